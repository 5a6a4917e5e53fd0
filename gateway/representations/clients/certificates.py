"""Keys and certificates of clients: Keycloak's JSON to values and back.

Keycloak: CertificateRepresentation, KeyStoreConfig; attributes `jwt.credential.*`
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.ports.client_keys import ClientKey, GeneratedKey
from gateway.domain.secrets import Secret
from gateway.representations.clients.settings import with_attributes
from gateway.representations.field_table import parse_strictly, without_none
from gateway.representations.refusals import refused_secret
from gateway.representations.shapes import Count, Flag, OneOf, Shape, Text

JWT_CREDENTIAL: Final = "jwt.credential"
"""The one purpose of a key that clients have here: signing what they prove themselves by."""
_CERTIFICATE: Final = ".certificate"
_PUBLIC_KEY: Final = ".public.key"
_KID: Final = ".kid"
_KEY_SET: Final = "jwks.string"
CERTIFICATE_ATTRIBUTES: Final = (f"{JWT_CREDENTIAL}{_CERTIFICATE}", _KEY_SET)
"""Attributes that hold certificates of a client."""
_USES_KEY_SET: Final = "use.jwks.string"
STANDARD_BITS: Final = 4096
STANDARD_YEARS: Final = 3
_LONGEST_PASSWORD: Final = 1000


@dataclass(frozen=True, slots=True)
class KeyStoreRequest:
    """How a key store is to be packed. Passwords that were not sent are None."""

    format: str
    alias: str
    realm_alias: str
    store_password: Secret | None
    key_password: Secret | None
    with_realm: bool
    bits: int
    years: int


_FIELDS: Final[Mapping[str, Shape]] = {
    "format": Text(least=1, most=20),
    "keyAlias": Text(least=1, most=255),
    "realmAlias": Text(least=1, most=255),
    "realmCertificate": Flag(),
    "keySize": OneOf((2048, 3072, 4096)),
    "validity": Count(least=1, most=20, unit="years"),
}
_PASSWORDS: Final = ("storePassword", "keyPassword")


def parse_key_store_request(
    document: Mapping[str, Any], client_id: str, realm: str
) -> KeyStoreRequest:
    """Return what was sent; raises InvalidInput."""
    passwords = {name: _password(document, name) for name in _PASSWORDS}
    rest = {name: value for name, value in document.items() if name not in _PASSWORDS}
    given = parse_strictly(rest, _FIELDS, "KeyStoreConfig")
    return KeyStoreRequest(
        format=given.get("format", ""),
        alias=given.get("keyAlias", client_id),
        realm_alias=given.get("realmAlias", realm),
        store_password=passwords["storePassword"],
        key_password=passwords["keyPassword"],
        with_realm=given.get("realmCertificate", True),
        bits=given.get("keySize", STANDARD_BITS),
        years=given.get("validity", STANDARD_YEARS),
    )


def _password(document: Mapping[str, Any], name: str) -> Secret | None:
    value = document.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _LONGEST_PASSWORD or not value.isprintable():
        raise refused_secret(name, f"printable text of at most {_LONGEST_PASSWORD} characters")
    return Secret(value) if value else None


def key_of(client: Client, purpose: str) -> ClientKey:
    """Return the public part of the key that the client has for a purpose."""
    attributes = client.attributes
    has_set = purpose == JWT_CREDENTIAL and attributes.get(_USES_KEY_SET) == "true"
    return ClientKey(
        certificate=attributes.get(f"{purpose}{_CERTIFICATE}"),
        public_key=attributes.get(f"{purpose}{_PUBLIC_KEY}"),
        kid=attributes.get(f"{purpose}{_KID}"),
        key_set=attributes.get(_KEY_SET) if has_set else None,
    )


def with_key(client: Client, key: ClientKey) -> Client:
    """Return the client with this key for its JWTs and no other."""
    purpose = JWT_CREDENTIAL
    own = {f"{purpose}{_CERTIFICATE}", f"{purpose}{_PUBLIC_KEY}", f"{purpose}{_KID}"}
    former = {*own, _KEY_SET, _USES_KEY_SET}
    kept = {name: text for name, text in client.attributes.items() if name not in former}
    if key.key_set is not None:
        wanted = {_KEY_SET: key.key_set, _USES_KEY_SET: "true"}
    elif key.certificate is not None:
        wanted = {f"{purpose}{_CERTIFICATE}": key.certificate}
    else:
        wanted = {f"{purpose}{_PUBLIC_KEY}": key.public_key or ""}
    return with_attributes(client, kept | wanted)


def render_key(key: ClientKey) -> dict[str, str]:
    """Return the JSON object of what there is."""
    return without_none(
        {
            "publicKey": key.public_key,
            "certificate": key.certificate,
            "kid": key.kid,
            "jwks": key.key_set,
        }
    )


def render_generated(key: GeneratedKey) -> dict[str, str]:
    """Return the JSON object of a new key, with the private part: no later answer contains it."""
    return {"privateKey": key.private_key.reveal(), "certificate": key.certificate}
