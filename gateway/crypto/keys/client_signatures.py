"""Verifying JWTs that clients have signed, with the keys that are registered for them.

The header's `alg` must fit the registered key: a public key never serves as an HMAC secret. `kid`
chooses among the client's own keys; `jku`, `jwk`, `x5u` and `x5c` are not read, `crit` is refused.
Spec: RFC 7515 §5.2, RFC 8725 §3.1, §3.10; attacks C13, C14
"""

import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import jwt
import orjson

from gateway.crypto.certificates import load_certificate
from gateway.crypto.jose_header import decoded
from gateway.crypto.keys import compact_jws
from gateway.crypto.keys.client_key_sets import OFTEN, UNREADABLE, ClientKeySets, keys_of
from gateway.crypto.pem import CERTIFICATE_LABELS, unwrap
from gateway.crypto.public_keys import (
    PublicKey,
    fits_algorithm,
    load_public_jwk,
    load_public_key,
)
from gateway.domain.clients import UNSIGNED, Client, VerificationKeys
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import SHORTEST_SECRETS, SecretAlgorithm, SignatureAlgorithm
from gateway.domain.ports.client_signatures import NoUsableKey, UnverifiedClaims, VerifiedClaims
from gateway.domain.ports.outgoing.remote_documents import RemoteDocuments

_PUBLIC_KEY_LABELS: Final = (b"PUBLIC KEY", b"RSA PUBLIC KEY")
_MOST_TRIED: Final = 5
"""Keys of a set that are tried for one token."""


class RegisteredClientSignatures:
    """The ClientSignatures of the product: keys by value or at a URL, and the client's secret."""

    def __init__(self, documents: RemoteDocuments) -> None:
        self._key_sets = ClientKeySets(documents)

    def read(self, token: str) -> UnverifiedClaims:
        jws = compact_jws.parse(token)
        return UnverifiedClaims(str(jws.header.get("alg")), _claims(jws), _type(jws))

    def read_unsigned(self, token: str) -> UnverifiedClaims:
        jws = compact_jws.parse(token)
        _require_no_critical_header(jws)
        if jws.header.get("alg") != UNSIGNED or jws.signature:
            raise InvalidToken("it is signed")
        return UnverifiedClaims(UNSIGNED, _claims(jws), _type(jws))

    async def verify(self, client: Client, token: str) -> VerifiedClaims:
        jws = compact_jws.parse(token)
        algorithm = jws.header.get("alg")
        _require_no_critical_header(jws)
        if not isinstance(algorithm, str) or not await self._holds(client, jws, algorithm):
            raise InvalidToken("no key of the client verifies its signature")
        return VerifiedClaims(algorithm, _claims(jws), _type(jws))

    async def _holds(self, client: Client, jws: compact_jws.CompactJws, algorithm: str) -> bool:
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


def _require_no_critical_header(jws: compact_jws.CompactJws) -> None:
    if "crit" in jws.header or "b64" in jws.header:
        raise InvalidToken("it has critical header parameters")


def _verifies(keys: Iterable[PublicKey], jws: compact_jws.CompactJws, algorithm: str) -> bool:
    """Return whether one of the keys has signed; raises NoUsableKey where none could have."""
    fitting = [key for key in keys if fits_algorithm(key, algorithm)]
    if not fitting:
        raise NoUsableKey("no key of the client fits the JWT")
    verifier = jwt.get_algorithm_by_name(algorithm)
    return any(verifier.verify(jws.signing_input, key, jws.signature) for key in fitting)


def _secret_holds(client: Client, jws: compact_jws.CompactJws, algorithm: str) -> bool:
    if client.secret is None or client.public_client:
        return False
    secret = client.secret.reveal().encode("utf-8", "surrogatepass")
    if len(secret) < SHORTEST_SECRETS[algorithm]:
        raise InvalidToken(f"the client's secret is too short for {algorithm}")
    digest = hmac.digest(secret, jws.signing_input, f"sha{algorithm[-3:]}")
    return hmac.compare_digest(digest, jws.signature)


def _keys(
    registered: VerificationKeys, jws: compact_jws.CompactJws, algorithm: str
) -> Iterator[PublicKey]:
    """Yield the keys given by value that may have signed."""
    if registered.uses_key_set:
        yield from _set_keys(registered.key_set, jws, algorithm)
        return
    try:
        if registered.certificate:
            certificate = load_certificate(
                unwrap(registered.certificate.encode("ascii"), *CERTIFICATE_LABELS)
            )
            key = certificate.public_key()
            if isinstance(key, PublicKey):
                yield key
        elif registered.public_key:
            yield load_public_key(
                unwrap(registered.public_key.encode("ascii"), *_PUBLIC_KEY_LABELS)
            )
    except UNREADABLE as error:
        raise NoUsableKey("the client's key cannot be read") from error


def _set_keys(key_set: str, jws: compact_jws.CompactJws, algorithm: str) -> Iterator[PublicKey]:
    """Yield the keys of a set that may have signed; one that cannot be read is left out."""
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


def _type(jws: compact_jws.CompactJws) -> str:
    found = jws.header.get("typ")
    return found if isinstance(found, str) else ""


def _claims(jws: compact_jws.CompactJws) -> Mapping[str, Any]:
    raw = decoded(jws.payload, "payload")
    try:
        claims = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InvalidToken("the payload is not JSON") from error
    if not isinstance(claims, dict):
        raise InvalidToken("the payload is not a JSON object")
    return claims
