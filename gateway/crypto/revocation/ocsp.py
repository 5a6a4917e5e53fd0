"""The revocation status of a certificate by OCSP, if the realm asks for it.

A response is reused until it expires. Only a certificate with a trusted path leads to a request: no
caller chooses the address. Spec: RFC 6960 §3.2, §4.1, §4.2, §4.4.1; RFC 5019 §2.1 (SHA-1 names the
certificate); attacks A12
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from weakref import WeakValueDictionary

import structlog
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from gateway.crypto.public_keys import load_certificate
from gateway.crypto.revocation.point_lists import ListedCertificates
from gateway.crypto.x509.parse import UNREADABLE, ParsedCertificate, parse_certificate
from gateway.crypto.x509.path_search import HASHES
from gateway.domain.certificates import CertificateFacts, CertificationPath, PresentedCertificate
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.limits.caches import SingleFlight, SizedCache
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.domain.realm import OcspNonce, OcspPolicy, Realm

LARGEST_RESPONSE: Final = 64 * 1024
"""Bytes; a response with the certificate of its responder has about two thousand."""
_WITHOUT_END: Final = timedelta(hours=1)
"""How long a response without `nextUpdate` counts."""
_LONGEST_UNCHECKED: Final = timedelta(days=7)
"""Longest validity of a responder's certificate without a revocation check."""
_REVOKED: Final = ocsp.OCSPCertStatus.REVOKED
_GOOD: Final = ocsp.OCSPCertStatus.GOOD
_PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


class UnusableResponse(Exception):
    """The response says nothing about the certificate; `str()` is the reason, for logs."""


@dataclass(frozen=True, slots=True)
class OcspStatus:
    """The status in a verified response, valid until `end`."""

    revoked: bool
    end: datetime
    responder: x509.Certificate | None = None
    """An authorized responder with a certificate that needs a revocation check."""
    must_be_listed: bool = False
    """Whether the responder may only be used where a list says that it is not revoked."""


@dataclass(frozen=True, slots=True)
class OcspQuestion:
    """Whether `issuer`, which is trusted, has revoked `certificate`."""

    certificate: x509.Certificate
    issuer: x509.Certificate
    nonce: bytes | None = field(default=None, repr=False)
    requires_nonce: bool = False

    def request(self) -> ocsp.OCSPRequest:
        """Return the request. SHA-1 only names the issuer; responders expect it."""
        builder = ocsp.OCSPRequestBuilder()
        sha1 = hashes.SHA1()  # noqa: S303 - a name, and no signature
        builder = builder.add_certificate(self.certificate, self.issuer, sha1)
        if self.nonce is not None:
            builder = builder.add_extension(x509.OCSPNonce(self.nonce), critical=False)
        return builder.build()

    def encoded(self) -> bytes:
        """Return the request in DER."""
        return self.request().public_bytes(serialization.Encoding.DER)

    def responder(self) -> str:
        """Return the first web address of a responder; raises UnusableResponse."""
        try:
            access = self.certificate.extensions.get_extension_for_class(
                x509.AuthorityInformationAccess
            ).value
        except x509.ExtensionNotFound as error:
            raise UnusableResponse("the certificate names no responder") from error
        urls = (
            one.access_location.value
            for one in access
            if one.access_method == AuthorityInformationAccessOID.OCSP
            and isinstance(one.access_location, x509.UniformResourceIdentifier)
        )
        for url in urls:
            if url.startswith(("http://", "https://")):
                return str(url)
        raise UnusableResponse("the certificate names no responder")

    def verify_answer(self, encoded: bytes, now: datetime) -> OcspStatus:
        """Return the status in a response; raises UnusableResponse."""
        try:
            return self._verify_response(encoded, now)
        except (*UNREADABLE, UnsupportedAlgorithm) as error:
            raise UnusableResponse(f"it is malformed: {error}") from error
        except InvalidSignature as error:
            raise UnusableResponse("its signature is wrong") from error

    def _verify_response(self, encoded: bytes, now: datetime) -> OcspStatus:
        response = ocsp.load_der_ocsp_response(encoded)
        if response.response_status is not ocsp.OCSPResponseStatus.SUCCESSFUL:
            raise UnusableResponse(f"the responder says {response.response_status.name}")
        signer = self._signer(response, now)
        _verify_signature(_known(signer), response)
        self._require_nonce(response)
        asked = self.request()
        for one in response.responses:
            if _names_same(one, asked):
                status = _status(one, now)
                if signer is self.issuer or status.revoked or _needs_no_check(signer):
                    return status
                lasting = _lifetime(signer) > _LONGEST_UNCHECKED
                return replace(status, responder=signer, must_be_listed=lasting)
        raise UnusableResponse("it is about another certificate")

    def _require_nonce(self, response: ocsp.OCSPResponse) -> None:
        """Refuse the response to another request. Spec: RFC 6960 §4.4.1."""
        if self.nonce is None:
            return
        try:
            found = response.extensions.get_extension_for_class(x509.OCSPNonce).value.nonce
        except x509.ExtensionNotFound as error:
            if self.requires_nonce:
                raise UnusableResponse("it has no nonce") from error
            return
        if found != self.nonce:
            raise UnusableResponse("its nonce is that of another request")

    def _signer(self, response: ocsp.OCSPResponse, now: datetime) -> x509.Certificate:
        """Return the issuer, or the responder that the issuer has authorized."""
        if _is_responder(self.issuer, response):
            return self.issuer
        for one in response.certificates:
            if _is_responder(one, response):
                self._require_authorized(one, now)
                return one
        raise UnusableResponse("its responder is neither the issuer nor authorized by it")

    def _require_authorized(self, responder: x509.Certificate, now: datetime) -> None:
        """Spec: RFC 6960 §4.2.2.2."""
        responder.verify_directly_issued_by(self.issuer)
        try:
            usages = responder.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        except x509.ExtensionNotFound:
            usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        if ExtendedKeyUsageOID.OCSP_SIGNING not in usages:
            raise UnusableResponse("its responder may not sign responses")
        if not responder.not_valid_before_utc <= now <= responder.not_valid_after_utc:
            raise UnusableResponse("the certificate of its responder is not valid now")
        if not isinstance(responder.signature_hash_algorithm, (*HASHES, type(None))):
            raise UnusableResponse("the certificate of its responder has a weak signature")


def require_unrevoked(status: OcspStatus, *, listed: bool | None) -> None:
    """Refuse "good" from a responder that may have been revoked; raises UnusableResponse.

    `listed` is its status in a list, None without a list: then its certificate must end soon or
    need no check. "Revoked" always counts: soft fail would accept the certificate. Spec: RFC 6960
    §4.2.2.2.1
    """
    if listed:
        raise UnusableResponse("the certificate of its responder was revoked")
    if listed is None and status.must_be_listed:
        raise UnusableResponse(
            "the certificate of its responder has no id-pkix-ocsp-nocheck, is valid for more"
            f" than {_LONGEST_UNCHECKED.days} days, and no list says that it is not revoked"
        )


def _needs_no_check(responder: x509.Certificate) -> bool:
    try:
        responder.extensions.get_extension_for_class(x509.OCSPNoCheck)
    except x509.ExtensionNotFound:
        return False
    return True


def _lifetime(responder: x509.Certificate) -> timedelta:
    return responder.not_valid_after_utc - responder.not_valid_before_utc


def _status(one: ocsp.OCSPSingleResponse, now: datetime) -> OcspStatus:
    end = one.next_update_utc or one.this_update_utc + _WITHOUT_END
    if one.this_update_utc > now + CLOCK_LEEWAY:
        raise UnusableResponse("it is not valid yet")
    if end < now:
        raise UnusableResponse("it has expired")
    if one.certificate_status not in {_GOOD, _REVOKED}:
        raise UnusableResponse("the responder does not know the certificate")
    return OcspStatus(one.certificate_status is _REVOKED, end)


def _names_same(one: ocsp.OCSPSingleResponse, asked: ocsp.OCSPRequest) -> bool:
    return (
        one.serial_number == asked.serial_number
        and one.hash_algorithm.name == asked.hash_algorithm.name
        and one.issuer_name_hash == asked.issuer_name_hash
        and one.issuer_key_hash == asked.issuer_key_hash
    )


def _is_responder(certificate: x509.Certificate, response: ocsp.OCSPResponse) -> bool:
    if response.responder_name is not None:
        return response.responder_name == certificate.subject
    identifier = x509.SubjectKeyIdentifier.from_public_key(certificate.public_key())
    return response.responder_key_hash == identifier.digest


def _known(certificate: x509.Certificate) -> _PublicKey:
    key = certificate.public_key()
    if not isinstance(key, _PublicKey):
        raise UnusableResponse("its key is of a kind that is not accepted")
    return key


def _verify_signature(key: _PublicKey, response: ocsp.OCSPResponse) -> None:
    algorithm, signed = response.signature_hash_algorithm, response.tbs_response_bytes
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(response.signature, signed)
        return
    if not isinstance(algorithm, HASHES):
        raise UnusableResponse("its signature is weak")
    if isinstance(key, rsa.RSAPublicKey):
        key.verify(response.signature, signed, padding.PKCS1v15(), algorithm)
    else:
        key.verify(response.signature, signed, ec.ECDSA(algorithm))


LONGEST_USE: Final = timedelta(hours=1)
"""Of a response that ends later: a revocation is noticed after this time at the latest."""
OUTAGE_PAUSE: Final = timedelta(seconds=10)
"""Pause after a failed request before the responder is asked for the certificate again."""
_MOST_BYTES: Final = 4 * 1024 * 1024
_UNKNOWN: Final = "its revocation could not be checked with its authority (OCSP)"
_NONCE_BYTES: Final = 32
LONGEST_ASK: Final = timedelta(seconds=2)
"""For the response and the status of its responder."""
OF_A_REALM: Final = 32
"""Concurrent requests of one realm, so that a slow responder delays no other realm."""
_Key = tuple[bytes, bytes, str, OcspNonce, tuple[str, ...], bool, str]
"""Digests of the certificate and of its issuer, and what the realm configures: the responder's URL,
the nonce, the URLs of lists, and whether distribution points are followed. The last is the id of
the realm: a timeout in one realm has no effect in another.
"""


@dataclass(frozen=True, slots=True)
class _Result:
    """An answer for `since` until `until`; `revoked` is None after a failure."""

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
        """`post` raises DocumentUnavailable; `lists` know revoked responders."""
        self._post = post
        self._lists = lists
        self._known: SizedCache[_Key, _Result] = SizedCache(_MOST_BYTES)
        self._asking: SingleFlight[_Key, _Result] = SingleFlight()
        self._free: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """The questions that realms may ask now, by their id."""

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        settings = realm.certificates.revocation
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
        """Return the current or the cached status; None where it says nothing."""
        if not isinstance(issuer, ParsedCertificate) or not isinstance(
            certificate, PresentedCertificate | ParsedCertificate
        ):
            return None
        settings = realm.certificates.revocation
        asked = settings.ocsp_url, settings.ocsp_nonce
        sources = settings.list_urls, settings.follows_points
        key = (certificate.form_digest, issuer.form_digest, *asked, *sources, realm.id)
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
                status = question.verify_answer(await self._post(url, question.encoded()), now)
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
