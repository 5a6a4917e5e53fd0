"""Signatures of clients: assertions and request objects by registered keys, and DPoP proofs.

The header's `alg` must fit the key: a public key never serves as an HMAC secret. `kid` chooses
among the client's own keys; `jku`, `x5u` and `x5c` are not read, nor `jwk` except in a DPoP proof;
`crit` is refused. A client repeats the header of its proofs, so its key is parsed once.
Spec: RFC 7515 §5.2, RFC 7638, RFC 8725 §3.1, §3.10, RFC 9449 §4.2, §4.3; attacks C13, C14.
Keycloak: 2.5 proofs of possession
"""

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
import orjson

from gateway.crypto import jose
from gateway.crypto.client_keys import OFTEN, UNREADABLE, ClientKeySets, keys_of
from gateway.crypto.der import CERTIFICATE_LABELS, unwrap
from gateway.crypto.jose import decoded
from gateway.crypto.private_keys import thumbprint
from gateway.crypto.public_keys import (
    PRIVATE_MEMBERS,
    PublicKey,
    fits_algorithm,
    load_certificate,
    load_public_jwk,
    load_public_key,
)
from gateway.domain.clients import UNSIGNED, Client, VerificationKeys
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import SHORTEST_SECRETS, SecretAlgorithm, SignatureAlgorithm
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.client_keys import (
    PROOF_ALGORITHMS,
    InvalidProof,
    NoUsableKey,
    SignedProof,
    UnverifiedClaims,
    VerifiedClaims,
)
from gateway.domain.ports.outgoing import RemoteDocuments

_PUBLIC_KEY_LABELS: Final = (b"PUBLIC KEY", b"RSA PUBLIC KEY")
_MOST_TRIED: Final = 5
"""Keys of a set that are tried for one token."""


class RegisteredClientSignatures:
    """The ClientSignatures of the product: keys by value or at a URL, and the client's secret."""

    def __init__(self, documents: RemoteDocuments) -> None:
        self._key_sets = ClientKeySets(documents)

    def read_claims(self, token: str) -> UnverifiedClaims:
        jws = jose.parse_jws(token)
        return UnverifiedClaims(
            str(jws.header.get("alg")),
            jose.parse_claims(decoded(jws.payload, "payload")),
            _type(jws),
        )

    def read_unsigned(self, token: str) -> UnverifiedClaims:
        jws = jose.parse_jws(token)
        _require_no_critical_header(jws)
        if jws.header.get("alg") != UNSIGNED or jws.signature:
            raise InvalidToken("it is signed")
        return UnverifiedClaims(
            UNSIGNED, jose.parse_claims(decoded(jws.payload, "payload")), _type(jws)
        )

    async def verify_claims(self, client: Client, token: str) -> VerifiedClaims:
        jws = jose.parse_jws(token)
        algorithm = jws.header.get("alg")
        _require_no_critical_header(jws)
        if not isinstance(algorithm, str) or not await self._holds(client, jws, algorithm):
            raise InvalidToken("no key of the client verifies its signature")
        return VerifiedClaims(
            algorithm, jose.parse_claims(decoded(jws.payload, "payload")), _type(jws)
        )

    async def _holds(self, client: Client, jws: jose.CompactJws, algorithm: str) -> bool:
        if algorithm in set(SecretAlgorithm):
            return _secret_holds(client, jws, algorithm)
        if algorithm not in set(SignatureAlgorithm):
            return False
        keys = client.verification_keys
        if not keys.uses_key_set_url:
            return _verifies(_keys(keys, jws, algorithm), jws, algorithm)
        known = await self._key_sets.fetch(client)
        try:
            if _verifies(_set_keys(known, jws, algorithm), jws, algorithm):
                return True
        except NoUsableKey:
            pass  # The client may have a new key since.
        newest = await self._key_sets.fetch(client, OFTEN)
        return _verifies(_set_keys(newest, jws, algorithm), jws, algorithm)


def _require_no_critical_header(jws: jose.CompactJws) -> None:
    if "crit" in jws.header or "b64" in jws.header:
        raise InvalidToken("it has critical header parameters")


def _verifies(keys: Iterable[PublicKey], jws: jose.CompactJws, algorithm: str) -> bool:
    """Return whether one of the keys has signed; raises NoUsableKey where none could have."""
    fitting = [key for key in keys if fits_algorithm(key, algorithm)]
    if not fitting:
        raise NoUsableKey("no key of the client fits the JWT")
    verifier = jwt.get_algorithm_by_name(algorithm)
    return any(verifier.verify(jws.signing_input, key, jws.signature) for key in fitting)


def _secret_holds(client: Client, jws: jose.CompactJws, algorithm: str) -> bool:
    if client.secret is None or client.public_client:
        return False
    secret = client.secret.reveal().encode("utf-8", "surrogatepass")
    if len(secret) < SHORTEST_SECRETS[algorithm]:
        raise InvalidToken(f"the client's secret is too short for {algorithm}")
    digest = hmac.digest(secret, jws.signing_input, f"sha{algorithm[-3:]}")
    return hmac.compare_digest(digest, jws.signature)


def _keys(
    registered: VerificationKeys, jws: jose.CompactJws, algorithm: str
) -> Iterator[PublicKey]:
    if registered.uses_key_set:
        yield from _set_keys(registered.key_set, jws, algorithm)
        return
    try:
        if registered.certificate:
            key = load_certificate(
                unwrap(registered.certificate.encode("ascii"), *CERTIFICATE_LABELS)
            ).public_key()
            if isinstance(key, PublicKey):
                yield key
        elif registered.public_key:
            yield load_public_key(
                unwrap(registered.public_key.encode("ascii"), *_PUBLIC_KEY_LABELS)
            )
    except UNREADABLE as error:
        raise NoUsableKey("the client's key cannot be read") from error


def _set_keys(key_set: str, jws: jose.CompactJws, algorithm: str) -> Iterator[PublicKey]:
    """Yield the keys of a set that may have signed; unreadable keys are skipped."""
    chosen = [jwk for jwk in keys_of(key_set) if _may_be(jwk, jws.header.get("kid"), algorithm)]
    for jwk in chosen[:_MOST_TRIED]:
        try:
            yield load_public_jwk(jwk)
        except UNREADABLE:
            continue


def _may_be(jwk: Mapping[str, Any], kid: object, algorithm: str) -> bool:
    if jwk.get("use", "sig") != "sig" or jwk.get("alg", algorithm) != algorithm:
        return False
    # Whatever the header has as kid, also what cannot be hashed.
    return kid is None or jwk.get("kid") in (None, kid)


def _type(jws: jose.CompactJws) -> str:
    found = jws.header.get("typ")
    return found if isinstance(found, str) else ""


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
    """Algorithm and key in the header of a proof."""

    algorithm: str
    key: PublicKey
    thumbprint: str

    def verifies(self, jws: jose.CompactJws) -> bool:
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

    def verify_proof(self, proof: str) -> SignedProof:
        header = proof.partition(".")[0]
        known = self._keys.get(header)
        try:
            jws = jose.parse_jws(proof, read=known is None)
        except InvalidToken as error:
            raise InvalidProof(_MALFORMED) from error
        key = known or _proof_key(jws.header)
        if not key.verifies(jws):
            raise InvalidProof("DPoP verification failure: Invalid token signature")
        if known is None:
            self._keys.put(header, key)
        return SignedProof(key.thumbprint, _proof_claims(jws))


def _proof_key(header: dict[str, Any]) -> _ProofKey:
    if header.get("typ") != "dpop+jwt":
        raise InvalidProof(f"Invalid or missing type in DPoP header: {_quoted(header.get('typ'))}")
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


def _proof_claims(jws: jose.CompactJws) -> dict[str, Any]:
    try:
        claims = orjson.loads(decoded(jws.payload, "payload"))
    except (InvalidToken, orjson.JSONDecodeError) as error:
        raise InvalidProof(
            "DPoP verification failure: Failed to read access token from JWT"
        ) from error
    if not isinstance(claims, dict):
        raise InvalidProof("DPoP mandatory claims are missing")
    return claims
