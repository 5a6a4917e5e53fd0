"""DPoP proofs: their nonces and checks, and the URL that they name."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from gateway.domain import base64url
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import PROOF_NONCE
from gateway.domain.limits.caches import SizedCache, cached
from gateway.domain.ports.client_keys import (
    LONGEST_PROOF,
    InvalidProof,
    ProofSignatures,
    SentProof,
    SignedProof,
)
from gateway.domain.ports.credentials import OneTimeMarks
from gateway.domain.ports.lookups import RealmEntry

_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHARACTERS: Final = re.compile(r"[!#-;=?-Z_a-z~\[\]]*")
"""The characters of RFC 3986: parsers treat others differently."""
_USUAL_PORTS: Final = {"https": 443, "http": 80}
_CACHED_URL_BYTES: Final = 1024 * 1024


def names_one_of(sent: str, urls: Iterable[str]) -> bool:
    """Return whether `sent` is one of the URLs, normalized without query; raises ValueError.

    Spec: RFC 9449 §4.3, number 9; RFC 3986 §6.2.2, §6.2.3
    """
    named = normalized_url(sent)
    return any(normalized_url(url) == named for url in urls)


@cached(_CACHED_URL_BYTES)
def normalized_url(url: str) -> str:
    """Return the absolute http(s) URL in normal form, without query; raises ValueError."""
    if _CHARACTERS.fullmatch(url) is None:
        raise ValueError("a character that URLs do not contain")
    parts = urlsplit(url)
    if parts.scheme not in _USUAL_PORTS or not _host(parts) or "@" in parts.netloc:
        raise ValueError("not an absolute http or https URL")
    return f"{parts.scheme}://{_authority(parts)}{_path(parts.path)}"


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def _authority(parts: SplitResult) -> str:
    host = _host(parts)
    host = f"[{host}]" if ":" in host else host
    port = parts.port
    return host if port in (None, _USUAL_PORTS[parts.scheme]) else f"{host}:{port}"


def _path(path: str) -> str:
    unescaped = _ESCAPE.sub(_normal_escape, path)
    if _ESCAPE.sub("", unescaped).count("%"):
        raise ValueError("an escape without two hexadecimal digits")
    kept: list[str] = []
    segments = unescaped.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in {".", ".."}:
        kept.append("")
    return f"/{'/'.join(kept)}"


def _normal_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


NONCE_LIFESPAN: Final = timedelta(minutes=5)
_NEW_ONE: Final = timedelta(minutes=1)
"""All nonces of this time are the same one, which is signed once."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_SIGNED: Final[SizedCache[tuple[str, int], str]] = SizedCache(256 * 1024)


def current_nonce(realm: RealmEntry, now: datetime) -> str:
    """Return the nonce for the next proof; it may be used again until it expires.

    It proves that the proof was made later. Spec: RFC 9449 §8, §9
    """
    issued = (now - _EPOCH) // _NEW_ONE * (_NEW_ONE // _SECOND)
    known = _SIGNED.get((realm.realm.id, issued))
    if known is None or not is_current_nonce(realm, known, now):
        claims = {"typ": PROOF_NONCE, "iat": issued, "aud": realm.realm.id}
        known = realm.key_ring.sign_for_ourselves(claims, now)
        _SIGNED.put((realm.realm.id, issued), known)
    return known


def is_current_nonce(realm: RealmEntry, nonce: object, now: datetime) -> bool:
    """Return whether the realm gave the nonce out within its lifespan."""
    if not isinstance(nonce, str):
        return False
    try:
        claims = realm.key_ring.verify_of_ourselves(nonce, now)
    except InvalidToken:
        return False
    if claims.get("typ") != PROOF_NONCE or claims.get("aud") != realm.realm.id:
        return False
    age = now - (_EPOCH + int(claims["iat"]) * _SECOND)
    return -CLOCK_LEEWAY <= age < NONCE_LIFESPAN + _NEW_ONE


PROOF_LIFETIME: Final = timedelta(seconds=10)
CLOCK_SKEW: Final = timedelta(seconds=15)
"""A proof is accepted from 15 s before its `iat` to 25 s after it, as in Keycloak."""
MISSING_PROOF: Final = "DPoP proof is missing"


class NonceRequired(InvalidProof):
    """The proof has no current nonce: the client is to repeat the request with the one it gets."""

    def __init__(self, nonce: str) -> None:
        super().__init__("Authorization server requires nonce in DPoP proof")
        self.nonce = nonce


class ProofChecks:
    """Checks size, signature, claims, URL, method, time, token hash, nonce, and last single use.

    Spec: RFC 9449 §4.3, §11.1; Keycloak: 2.5 proofs of possession
    """

    def __init__(self, signatures: ProofSignatures, marks: OneTimeMarks) -> None:
        self._signatures = signatures
        self._marks = marks

    async def check_proof(
        self, realm: RealmEntry, sent: SentProof, now: datetime, access_token: str | None = None
    ) -> str:
        """Return the thumbprint of the key; the proof has the hash of `access_token`, if given."""
        if not sent.text:
            raise InvalidProof(MISSING_PROOF)
        if len(sent.text) > LONGEST_PROOF:
            raise InvalidProof(f"DPoP proof is longer than {LONGEST_PROOF} characters")
        proof = self._signatures.verify_proof(sent.text)
        issued = _require_claims(proof.claims)
        _require_request(proof.claims, sent)
        _require_time(issued, now)
        if access_token is not None:
            _require_hash(proof.claims, access_token)
        if realm.realm.protocol.requires_proof_nonce and not is_current_nonce(
            realm, proof.claims.get("nonce"), now
        ):
            raise NonceRequired(current_nonce(realm, now))
        if not sent.is_repeated:
            await self._require_first_use(realm.realm.id, proof, issued, now)
        return proof.thumbprint

    async def _require_first_use(
        self, realm_id: str, proof: SignedProof, issued: float, now: datetime
    ) -> None:
        claims = proof.claims
        used = f"{proof.thumbprint}\n{claims['jti']}\n{normalized_url(claims['htu'])}"
        digest = hashlib.sha256(used.encode("utf-8", "surrogatepass")).hexdigest()
        remaining = timedelta(seconds=issued - now.timestamp()) + PROOF_LIFETIME + CLOCK_SKEW
        # Clocks of gateways differ: the mark lasts longer than the proof anywhere.
        if not await self._marks.claim(realm_id, f"dpop:{digest}", remaining + 2 * CLOCK_LEEWAY):
            raise InvalidProof("DPoP proof has already been used")


def _require_claims(claims: Mapping[str, Any]) -> float:
    """Return `iat`, in seconds since the epoch."""
    issued = claims.get("iat")
    is_number = isinstance(issued, int | float) and not isinstance(issued, bool)
    texts = (claims.get(name) for name in ("jti", "htm", "htu"))
    if not is_number or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InvalidProof("DPoP mandatory claims are missing")
    return float(claims["iat"])


def _require_request(claims: Mapping[str, Any], sent: SentProof) -> None:
    try:
        named = names_one_of(claims["htu"], sent.urls)
    except ValueError as error:
        raise InvalidProof("Malformed HTTP URL in DPoP proof") from error
    if not named:
        raise InvalidProof("DPoP HTTP URL mismatch")
    if claims["htm"] != sent.method:
        raise InvalidProof("DPoP HTTP method mismatch")


def _require_time(issued: float, now: datetime) -> None:
    current, skew = now.timestamp(), CLOCK_SKEW.total_seconds()
    # Whole seconds, as those of Keycloak and of most clients.
    if not int(current) - PROOF_LIFETIME.total_seconds() - skew <= issued <= current + skew:
        raise InvalidProof("DPoP proof is not active")


def _require_hash(claims: Mapping[str, Any], access_token: str) -> None:
    sent = claims.get("ath")
    if not isinstance(sent, str):
        raise InvalidProof("No access token hash in DPoP proof")
    digest = hashlib.sha256(access_token.encode("utf-8", "surrogatepass")).digest()
    if sent != base64url.encode(digest):
        raise InvalidProof("DPoP proof access token hash mismatch")
