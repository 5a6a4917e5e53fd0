"""Verifying DPoP proofs with the public key in their header.

The key is given by value alone: a proof that names it by `jku`, `x5u` or `x5c` is refused, and none
of them is read. A client sends the same header with each of its proofs, so its key is parsed once.
Spec: RFC 9449 §4.2, §4.3; RFC 7638; RFC 8725 §3.1, §3.10. Keycloak: 2.5
"""

from dataclasses import dataclass
from typing import Any, Final

import jwt
import orjson

from gateway.crypto.jose_header import decoded
from gateway.crypto.keys import compact_jws
from gateway.crypto.keys.client_key_sets import UNREADABLE
from gateway.crypto.keys.jwk import thumbprint
from gateway.crypto.public_keys import PRIVATE_MEMBERS, PublicKey, fits_algorithm, load_public_jwk
from gateway.domain.dpop_proofs import PROOF_ALGORITHMS, InvalidProof, SignedProof
from gateway.domain.errors import InvalidToken
from gateway.domain.limits.caches import SizedCache

_TYPE: Final = "dpop+jwt"
_ALGORITHMS: Final = frozenset(PROOF_ALGORITHMS)
_REFERENCES: Final = frozenset({"jku", "x5u", "x5c"})
_NOT_UNDERSTOOD: Final = frozenset({"crit", "b64"})
_MALFORMED: Final = "DPoP header verification failure"
_LONGEST_QUOTED: Final = 20
_REMEMBERED_BYTES: Final = 4 * 1024 * 1024
"""Memory of a worker for keys: about eight hundred."""
_PARSED: Final = 4096
"""Bytes of a parsed key."""


@dataclass(frozen=True, slots=True)
class _ProofKey:
    """What the header of a proof says."""

    algorithm: str
    key: PublicKey
    thumbprint: str

    def verifies(self, jws: compact_jws.CompactJws) -> bool:
        if not fits_algorithm(self.key, self.algorithm):
            return False
        verifier = jwt.get_algorithm_by_name(self.algorithm)
        return verifier.verify(jws.signing_input, self.key, jws.signature)


class ProofSignatureVerifier:
    """The ProofSignatures of the product."""

    def __init__(self) -> None:
        self._keys: SizedCache[str, _ProofKey] = SizedCache(
            _REMEMBERED_BYTES, lambda header, _: len(header) + _PARSED
        )

    def verify(self, proof: str) -> SignedProof:
        header = proof.partition(".")[0]
        known = self._keys.get(header)
        try:
            jws = compact_jws.parse(proof, read=known is None)
        except InvalidToken as error:
            raise InvalidProof(_MALFORMED) from error
        key = known or _proof_key(jws.header)
        if not key.verifies(jws):
            raise InvalidProof("DPoP verification failure: Invalid token signature")
        if known is None:
            self._keys.put(header, key)
        return SignedProof(key.thumbprint, _claims(jws))


def _proof_key(header: dict[str, Any]) -> _ProofKey:
    """Return algorithm and key of a header; raises InvalidProof."""
    if header.get("typ") != _TYPE:
        text = f"Invalid or missing type in DPoP header: {_quoted(header.get('typ'))}"
        raise InvalidProof(text)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
        raise InvalidProof(f"Unsupported DPoP algorithm: {_quoted(algorithm)}")
    if not _NOT_UNDERSTOOD.isdisjoint(header):
        raise InvalidProof(_MALFORMED)
    jwk = header.get("jwk")
    if not isinstance(jwk, dict):
        raise InvalidProof("No JWK in DPoP header")
    if not PRIVATE_MEMBERS.isdisjoint(jwk):
        raise InvalidProof("Private key material must not be present in DPoP JWK")
    if not _REFERENCES.isdisjoint(header) or not _REFERENCES.isdisjoint(jwk):
        raise InvalidProof("The key in the DPoP header must be given by value alone")
    try:
        key = load_public_jwk(jwk)
    except UNREADABLE as error:
        raise InvalidProof("Unsupported key type in DPoP header") from error
    return _ProofKey(algorithm, key, thumbprint(key))


def _quoted(value: object) -> str:
    """Return a short word of a header; anything else as `?`, so that no text is smuggled in."""
    if value is None:
        return "null"
    plain = isinstance(value, str) and value.isascii() and value.replace("+", "").isalnum()
    return str(value) if plain and len(str(value)) <= _LONGEST_QUOTED else "?"


def _claims(jws: compact_jws.CompactJws) -> dict[str, Any]:
    try:
        claims = orjson.loads(decoded(jws.payload, "payload"))
    except (InvalidToken, orjson.JSONDecodeError) as error:
        raise InvalidProof(
            "DPoP verification failure: Failed to read access token from JWT"
        ) from error
    if not isinstance(claims, dict):
        raise InvalidProof("DPoP mandatory claims are missing")
    return claims
