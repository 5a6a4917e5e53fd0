"""What reaches other servers: downloads of revocation lists, OCSP, documents of clients, and mail.

SMTP is loaded with the first mail: it takes 1 MB with its texts, and most workers send none.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from gateway.crypto.revocation.downloaded_lists import LARGEST_DOCUMENT, DownloadedLists
from gateway.crypto.revocation.ocsp import LARGEST_RESPONSE, LONGEST_ASK, OF_A_REALM
from gateway.crypto.revocation.point_lists import LARGEST_AT_POINT, PointLists
from gateway.crypto.revocation.realm_lists import LARGEST_OF_REALM, RealmRevocationLists
from gateway.domain.clock import Clock
from gateway.domain.mail import Mail, MailServer
from gateway.domain.ports.lookups import Directory, RealmTexts
from gateway.domain.ports.outgoing import DocumentUnavailable, MailSender, MailTokens
from gateway.domain.realm import Realm
from gateway.outgoing import (
    AddressPolicy,
    ClientLimits,
    GuardedHttpClient,
    GuardedSockets,
    ServerVerification,
)
from gateway.settings import Settings

_DOWNLOAD_TIME: Final = timedelta(minutes=1)
"""For one document of revocation lists at a URL of the operator or a realm."""
_POINT_TIME: Final = timedelta(seconds=20)
"""For one at a URL of a certificate."""
_ASKING_REALMS: Final = 8
"""Realms that may have as many questions to responders as each is allowed."""

AskResponder = Callable[[str, bytes], Awaitable[bytes]]
"""URL and request of OCSP -> response; raises DocumentUnavailable."""


def open_http_client(settings: Settings) -> GuardedHttpClient:
    """Return the client for URLs that others name."""
    return GuardedHttpClient(
        AddressPolicy(settings.fetch_networks),
        allow_http=settings.fetch_http,
        authorities=settings.fetch_ca_file,
    )


def revocation_downloads(settings: Settings, clock: Clock) -> DownloadedLists | None:
    """Return what downloads the revocation lists of the settings; None without URLs."""
    if not settings.client_crl_urls:
        return None
    fetch = _list_downloader(settings, LARGEST_DOCUMENT)
    return DownloadedLists(settings.client_crl_urls, fetch, clock)


def realm_revocation_lists(
    settings: Settings, clock: Clock, directory: Directory
) -> RealmRevocationLists:
    """Return what downloads the revocation lists that realms name."""
    fetch = _list_downloader(settings, LARGEST_OF_REALM)
    return RealmRevocationLists(fetch, clock, _realm_finder(directory))


def point_lists(settings: Settings, clock: Clock, directory: Directory) -> PointLists:
    """Return what downloads the revocation lists that certificates name."""
    fetch = _list_downloader(settings, LARGEST_AT_POINT, _POINT_TIME)
    return PointLists(fetch, clock, _realm_finder(directory))


def _realm_finder(directory: Directory) -> Callable[[str], Awaitable[Realm | None]]:
    async def find_realm(name: str) -> Realm | None:
        entry = await directory.realm(name)
        return None if entry is None else entry.realm

    return find_realm


def _list_downloader(
    settings: Settings, most_bytes: int, time: timedelta = _DOWNLOAD_TIME
) -> Callable[[str], Awaitable[bytes]]:
    client = GuardedHttpClient(
        AddressPolicy(settings.fetch_networks),
        allow_http=True,
        authorities=settings.fetch_ca_file,
        limits=ClientLimits(time=time, most_bytes=most_bytes, at_once=16),
    )

    async def fetch(url: str) -> bytes:
        response = await client.get(url)
        if response.status != HTTPStatus.OK:
            raise DocumentUnavailable(f"the server answered with {response.status}")
        return response.body

    return fetch


def responder_client(settings: Settings) -> AskResponder:
    """Return what asks OCSP responders, within two seconds; responses are signed."""
    client = GuardedHttpClient(
        AddressPolicy(settings.fetch_networks),
        allow_http=True,
        authorities=settings.fetch_ca_file,
        limits=ClientLimits(
            time=LONGEST_ASK, most_bytes=LARGEST_RESPONSE, at_once=_ASKING_REALMS * OF_A_REALM
        ),
    )

    async def post(url: str, request: bytes) -> bytes:
        response = await client.post(url, request, "application/ocsp-request")
        if response.status != HTTPStatus.OK:
            raise DocumentUnavailable(f"the responder answered with {response.status}")
        return response.body

    return post


class _SenderOfFirstMail:
    """MailSender that is made when there is a mail."""

    def __init__(self, make: Callable[[], MailSender]) -> None:
        self._make = make
        self._sender: MailSender | None = None

    async def send(self, server: MailServer, mail: Mail) -> None:
        if self._sender is None:
            self._sender = self._make()
        await self._sender.send(server, mail)


def mail_sender(settings: Settings, texts: RealmTexts, tokens: MailTokens) -> MailSender:
    """Return the sender of mails; `texts` are those that administrators wrote."""

    def make() -> MailSender:
        from gateway.mail import MailRenderer, SmtpMailSender  # noqa: PLC0415 - see above

        return SmtpMailSender(
            GuardedSockets(AddressPolicy(settings.mail_networks)).connect,
            MailRenderer(texts, settings.themes),
            tokens=tokens,
            verification=ServerVerification(settings.mail_ca_file).context,
            host_name=_smtp_name(urlsplit(settings.public_url).hostname or "localhost"),
        )

    return _SenderOfFirstMail(make)


def _smtp_name(host: str) -> str:
    """Return a host as SMTP names it: an address in brackets. Spec: RFC 5321 §4.1.3."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[IPv6:{address}]" if ":" in host else f"[{address}]"
