"""Outgoing documents, logout notices, webhooks, and tokens for mail servers.

Documents of clients are cached by URL with bounds of size and age. A failure is cached too, for a
short time: a caller cannot make the gateway send a request each time it asks for one.

Webhooks are signed as Standard Webhooks describes: the header `webhook-signature` is `v1,` and the
HMAC-SHA256 of `id.timestamp.body` in base64. Receivers compare it, refuse old timestamps, and
recognize a repeated event by its id (docs/events.md). Mail servers that take no password get an
access token (XOAUTH2). Spec: OpenID Connect Back-Channel Logout §2.5, §2.8; RFC 6749 §4.4;
Keycloak: 8.1 (smtpServer)
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from gateway.domain.clock import Clock
from gateway.domain.deliveries import WebhookDelivery, WebhookNotReceived
from gateway.domain.limits.caches import SingleFlight, SizedCache
from gateway.domain.mail import MailNotSent, TokenRequest
from gateway.domain.ports.outgoing import DocumentUnavailable, NoticeNotReceived
from gateway.domain.realm import Webhook
from gateway.domain.secrets import Secret
from gateway.outgoing.http_client import GuardedHttpClient

_LONGEST_DOCUMENT: Final = timedelta(minutes=10)
_OF_FAILURES: Final = timedelta(seconds=10)
_MOST_DOCUMENT_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A document or the reason for its absence."""

    at: datetime
    content: bytes | None = field(repr=False)
    failure: str = ""


class CachedDocuments:
    """The RemoteDocuments of the product."""

    def __init__(self, client: GuardedHttpClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: SizedCache[str, _Fetched] = SizedCache(_MOST_DOCUMENT_BYTES)
        self._flights: SingleFlight[str, _Fetched] = SingleFlight()

    async def fetch(self, url: str, *, newest: timedelta | None = None) -> bytes:
        found = self._known.get(url)
        if found is None or self._clock.now() - found.at >= _age_limit(found, newest):
            found = await self._flights.run(url, lambda: self._fetched(url))
        if found.content is None:
            raise DocumentUnavailable(found.failure)
        return found.content

    async def _fetched(self, url: str) -> _Fetched:
        now = self._clock.now()
        try:
            response = await self._client.get(url)
        except DocumentUnavailable as error:
            found = _Fetched(now, None, str(error))
        else:
            if response.status == HTTPStatus.OK:
                found = _Fetched(now, response.body)
            else:
                found = _Fetched(now, None, f"the server answered with {response.status}")
        self._known.put(url, found)
        return found


def _age_limit(found: _Fetched, newest: timedelta | None) -> timedelta:
    if found.content is None:
        return _OF_FAILURES
    return _LONGEST_DOCUMENT if newest is None else newest


_FORM: Final = "application/x-www-form-urlencoded"
_RECEIVED: Final = frozenset({HTTPStatus.OK, HTTPStatus.NO_CONTENT})
"""Frameworks send 204 for an empty response."""


class HttpNoticeSender:
    """NoticeSender by the guarded HTTP client."""

    def __init__(self, client: GuardedHttpClient) -> None:
        self._client = client

    async def send(self, url: str, logout_token: str) -> None:
        content = urlencode({"logout_token": logout_token}).encode()
        try:
            response = await self._client.post(url, content, _FORM)
        except DocumentUnavailable as failure:
            raise NoticeNotReceived(str(failure)) from failure
        if response.status not in _RECEIVED:
            raise NoticeNotReceived(f"the client answered with {response.status}")


_JSON: Final = "application/json"
_BASE64: Final = "whsec_"
"""Before a secret that is written in base64."""


class HttpWebhookSender:
    """WebhookSender by the guarded HTTP client."""

    def __init__(self, client: GuardedHttpClient) -> None:
        self._client = client

    async def send(self, webhook: Webhook, delivery: WebhookDelivery, now: datetime) -> None:
        content = delivery.body.encode()
        timestamp = str(int(now.timestamp()))
        signature = _signature(webhook.secret, f"{delivery.id}.{timestamp}.".encode() + content)
        headers = (
            ("webhook-id", delivery.id),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", signature),
        )
        try:
            response = await self._client.post(webhook.url, content, _JSON, headers)
        except DocumentUnavailable as failure:
            raise WebhookNotReceived(str(failure)) from failure
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            reason = f"the receiver answered with {response.status}"
            raise WebhookNotReceived(reason, is_final=response.status == HTTPStatus.GONE)


def _signature(secret: Secret, content: bytes) -> str:
    digest = hmac.digest(_signing_key(secret.reveal()), content, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def _signing_key(text: str) -> bytes:
    """Return the key: what is in base64 after `whsec_`, or else the text of the secret."""
    if text.startswith(_BASE64):
        try:
            return base64.b64decode(text.removeprefix(_BASE64), validate=True)
        except binascii.Error:
            pass
    return text.encode()


_LEEWAY: Final = timedelta(seconds=30)
"""Time before its expiration at which a token is replaced."""
_SHORT: Final = timedelta(seconds=60)
"""The lifetime of a token without `expires_in`, as in Keycloak."""
_LONGEST_TOKEN: Final = timedelta(hours=1)
_MOST_SECONDS: Final = 1_000_000
_MOST_TOKEN_BYTES: Final = 1024 * 1024
_TOKEN: Final = re.compile(r"[!-~]{1,16384}")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    until: datetime


class ClientCredentialsTokens:
    """MailTokens by the guarded HTTP client."""

    def __init__(self, client: GuardedHttpClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: SizedCache[Hashable, _Token] = SizedCache(_MOST_TOKEN_BYTES)

    async def get_token(self, request: TokenRequest) -> str:
        now, key = self._clock.now(), _token_key(request)
        known = self._known.get(key)
        if known is None or known.until <= now:
            known = _parsed(await self._requested(request), now)
            self._known.put(key, known)
        return known.text

    def discard(self, request: TokenRequest) -> None:
        self._known.put(_token_key(request), _Token("", self._clock.now()))

    async def _requested(self, request: TokenRequest) -> bytes:
        form = {
            "grant_type": "client_credentials",
            "client_id": request.client_id,
            "client_secret": request.client_secret.reveal(),
            **({"scope": request.scope} if request.scope else {}),
        }
        try:
            response = await self._client.post(request.url, urlencode(form).encode(), _FORM)
        except DocumentUnavailable as failure:
            raise MailNotSent(f"smtpServer.authTokenUrl: {failure}") from failure
        if response.status != HTTPStatus.OK:
            raise MailNotSent(f"smtpServer.authTokenUrl answered with {response.status}")
        return response.body


def _token_key(request: TokenRequest) -> Hashable:
    return (request.url, request.client_id, request.scope, request.client_secret.reveal())


def _parsed(body: bytes, now: datetime) -> _Token:
    """Return the token of a response; raises MailNotSent, which quotes nothing of it."""
    try:
        document: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    text = document.get("access_token") if isinstance(document, dict) else None
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise MailNotSent("smtpServer.authTokenUrl answered without an access token")
    return _Token(text, now + max(_lifespan(document) - _LEEWAY, timedelta()))


def _lifespan(document: dict[str, Any]) -> timedelta:
    seconds = document.get("expires_in")
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return _SHORT
    return min(timedelta(seconds=min(max(seconds, 0), _MOST_SECONDS)), _LONGEST_TOKEN)
