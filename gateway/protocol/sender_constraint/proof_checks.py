"""What a DPoP proof must contain for one request; each proof is accepted once, at any gateway.

Order: size, signature, claims, URL and method, time, hash of the token, nonce, single use. The mark
of its use comes last, so that a proof which is refused is not used up.
Spec: RFC 9449 §4.3, §11.1; Keycloak: 2.5
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.domain import base64url
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.dpop_proofs import LONGEST_PROOF, InvalidProof, SentProof, SignedProof
from gateway.domain.ports.client_signatures import ProofSignatures
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.ports.one_time_passwords import OneTimeMarks
from gateway.domain.realm import requires_proof_nonce
from gateway.protocol.sender_constraint.nonces import current_nonce, is_current
from gateway.protocol.sender_constraint.target_urls import names_one_of, normalized

LIFETIME: Final = timedelta(seconds=10)
CLOCK_SKEW: Final = timedelta(seconds=15)
"""A proof is accepted from 15 s before its `iat` to 25 s after it, as in Keycloak."""
MISSING: Final = "DPoP proof is missing"


class NonceRequired(InvalidProof):
    """The proof has no current nonce: the client is to repeat the request with the one it gets."""

    def __init__(self, nonce: str) -> None:
        super().__init__("Authorization server requires nonce in DPoP proof")
        self.nonce = nonce


class ProofChecks:
    """Checks proofs for every realm."""

    def __init__(self, signatures: ProofSignatures, marks: OneTimeMarks) -> None:
        self._signatures = signatures
        self._marks = marks

    async def check(
        self, realm: RealmEntry, sent: SentProof, now: datetime, access_token: str | None = None
    ) -> str:
        """Return the thumbprint of the key; raises InvalidProof or StoreUnavailable.

        With `access_token` the proof must contain its hash.
        """
        if not sent.text:
            raise InvalidProof(MISSING)
        if len(sent.text) > LONGEST_PROOF:
            raise InvalidProof(f"DPoP proof is longer than {LONGEST_PROOF} characters")
        proof = self._signatures.verify(sent.text)
        issued = _require_claims(proof.claims)
        _require_request(proof.claims, sent)
        _require_time(issued, now)
        if access_token is not None:
            _require_hash(proof.claims, access_token)
        if requires_proof_nonce(realm.realm) and not is_current(
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
        used = f"{proof.thumbprint}\n{claims['jti']}\n{normalized(claims['htu'])}"
        digest = hashlib.sha256(used.encode("utf-8", "surrogatepass")).hexdigest()
        remaining = timedelta(seconds=issued - now.timestamp()) + LIFETIME + CLOCK_SKEW
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
    if not int(current) - LIFETIME.total_seconds() - skew <= issued <= current + skew:
        raise InvalidProof("DPoP proof is not active")


def _require_hash(claims: Mapping[str, Any], access_token: str) -> None:
    sent = claims.get("ath")
    if not isinstance(sent, str):
        raise InvalidProof("No access token hash in DPoP proof")
    digest = hashlib.sha256(access_token.encode("utf-8", "surrogatepass")).digest()
    if sent != base64url.encode(digest):
        raise InvalidProof("DPoP proof access token hash mismatch")
