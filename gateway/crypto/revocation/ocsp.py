"""Whether a certificate was revoked, by OCSP where the realm asks for it.

A responder is asked once until its response ends. Only a certificate with a trusted path leads to a
request: no caller chooses the address. Spec: RFC 6960; attacks A12
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from weakref import WeakValueDictionary

import structlog
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto.certificates import load_certificate
from gateway.crypto.revocation.ocsp_response import (
    OcspQuestion,
    OcspStatus,
    UnusableResponse,
    require_unrevoked,
)
from gateway.crypto.revocation.point_rule import ListedCertificates
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.domain.certificates import (
    CertificateFacts,
    CertificationPath,
    PresentedCertificate,
)
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.single_flight import SingleFlight
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable
from gateway.domain.realm import OcspNonce, OcspPolicy, Realm, certificate_revocation_of

LONGEST_USE: Final = timedelta(hours=1)
"""Of a response that ends later: a revocation is noticed after this time at the latest."""
OUTAGE_PAUSE: Final = timedelta(seconds=10)
"""How long a responder is not asked again for the certificate after it failed."""
_MOST_BYTES: Final = 4 * 1024 * 1024
_UNKNOWN: Final = "its revocation could not be checked with its authority (OCSP)"
_NONCE_BYTES: Final = 32
LONGEST_ASK: Final = timedelta(seconds=2)
"""For the response, and what has to be known of its responder."""
OF_A_REALM: Final = 32
"""Questions of one realm at the same time, so that a slow responder holds up no other realm."""
_Key = tuple[bytes, bytes, str, OcspNonce, tuple[str, ...], bool, str]
"""Digests of the certificate and of its issuer, and what the realm configures: the responder's URL,
the nonce, the URLs of lists, and whether distribution points are followed. The last is the id of
the realm: what one cannot find out in time says nothing in another."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What is known from `since` until `until`; `revoked` is None after a failure."""

    revoked: bool | None
    since: datetime
    until: datetime


class OcspRevocations:
    """Revocations by OCSP; belongs to one event loop."""

    def __init__(
        self,
        post: Callable[[str, bytes], Awaitable[bytes]],
        lists: Sequence[ListedCertificates] = (),
    ) -> None:
        """Take `post`, which sends a request and raises DocumentUnavailable.

        `lists` say whether a responder's own certificate was revoked.
        """
        self._post = post
        self._lists = lists
        self._known: SizedCache[_Key, _Result] = SizedCache(_MOST_BYTES)
        self._asking: SingleFlight[_Key, _Result] = SingleFlight()
        self._free: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """The questions that realms may ask now, by their id."""

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        settings = certificate_revocation_of(realm)
        if settings.ocsp is OcspPolicy.OFF or len(path.certificates) == 1:
            return None
        links = tuple(path.links)
        for certificate, issuer in links if settings.ocsp_of_chain else links[:1]:
            revoked = await self._is_revoked(certificate, issuer, realm, now)
            if revoked:
                return f"{certificate.subject} was revoked"
            if revoked is None and settings.ocsp is OcspPolicy.HARD:
                return _UNKNOWN
        return None

    async def _is_revoked(
        self, certificate: CertificateFacts, issuer: CertificateFacts, realm: Realm, now: datetime
    ) -> bool | None:
        """Return what the responder says, or has said before; None where it says nothing."""
        if not isinstance(issuer, ParsedCertificate) or not isinstance(
            certificate, PresentedCertificate | ParsedCertificate
        ):
            return None
        settings = certificate_revocation_of(realm)
        asked = settings.ocsp_url, settings.ocsp_nonce
        sources = settings.list_urls, settings.follows_points
        key = (certificate.digest, issuer.digest, *asked, *sources, realm.id)
        known = self._known.get(key)
        if known is None or not known.since <= now < known.until:
            known = await self._asking.run(
                key, lambda: self._ask(key, certificate, issuer, realm, now)
            )
        return known.revoked

    async def _ask(
        self,
        key: _Key,
        certificate: PresentedCertificate | ParsedCertificate,
        issuer: ParsedCertificate,
        realm: Realm,
        now: datetime,
    ) -> _Result:
        question = _question(certificate, issuer, key[3])
        free = self._free.setdefault(realm.id, asyncio.Semaphore(OF_A_REALM))
        try:
            url = key[2] or question.responder()
            async with asyncio.timeout(LONGEST_ASK.total_seconds()), free:
                status = question.verify(await self._post(url, question.encoded()), now)
                await self._check_responder(status, issuer, realm, now)
            result = _Result(status.revoked, now, min(status.end, now + LONGEST_USE))
        except (DocumentUnavailable, UnusableResponse, TimeoutError) as error:
            # Not for the caller, who would learn which addresses exist.
            structlog.get_logger().warning(
                "ocsp says nothing",
                realm=realm.name,
                subject=str(certificate.subject),
                reason=str(error) or "the lists of its issuer did not come in time",
            )
            before = self._known.get(key)
            # Silence takes nothing back, else stopping requests would.
            revoked = True if before is not None and before.revoked else None
            result = _Result(revoked, now, now + OUTAGE_PAUSE)
        self._known.put(key, result)
        return result

    async def _check_responder(
        self, status: OcspStatus, issuer: ParsedCertificate, realm: Realm, now: datetime
    ) -> None:
        """Raise UnusableResponse where the responder is revoked, or may be."""
        if status.responder is None:
            return
        try:
            responder = parse_certificate(status.responder.public_bytes(Encoding.DER))
        except MalformedCertificate as error:
            raise UnusableResponse(f"the certificate of its responder is {error}") from error
        found = [await each.is_revoked(responder, issuer, realm, now) for each in self._lists]
        good = False if False in found else None
        require_unrevoked(status, listed=True if True in found else good)


def _question(
    certificate: PresentedCertificate | ParsedCertificate,
    issuer: ParsedCertificate,
    nonce: OcspNonce,
) -> OcspQuestion:
    return OcspQuestion(
        certificate.certificate
        if isinstance(certificate, ParsedCertificate)
        else load_certificate(certificate.der),
        issuer.certificate,
        None if nonce is OcspNonce.OFF else secrets.token_bytes(_NONCE_BYTES),
        requires_nonce=nonce is OcspNonce.REQUIRED,
    )
