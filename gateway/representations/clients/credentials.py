"""Keys, certificates and secrets of clients, the times of the secrets, and locks of devices.

Attributes say when secrets were made and expire, in seconds since 1970.
Keycloak: CertificateRepresentation, KeyStoreConfig; attributes `jwt.credential.*`; client
attributes, OIDC client secret rotation
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway.domain.certificate_names import LONGEST_DEVICE_NAME
from gateway.domain.clients import (
    ROTATED_CREATED,
    ROTATED_EXPIRES,
    ROTATED_SECRET,
    SECRET_CREATED,
    SECRET_EXPIRES,
    SECRET_REMAINING,
    Client,
    with_attributes,
)
from gateway.domain.ports.certificates import DeviceLock
from gateway.domain.ports.client_keys import ClientKey, GeneratedKey
from gateway.domain.secrets import Secret
from gateway.representations.field_table import parse_strictly, without_none
from gateway.representations.refusals import refused, refused_secret
from gateway.representations.shapes import Count, Flag, OneOf, Shape, Text

JWT_CREDENTIAL: Final = "jwt.credential"
"""The one purpose of a key that clients have here: signing what they prove themselves by."""
_CERTIFICATE: Final = ".certificate"
_PUBLIC_KEY: Final = ".public.key"
_KID: Final = ".kid"
_KEY_SET: Final = "jwks.string"
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


_NOT_FOR_A_REALM = {"realm_client": "false"}
_FROM_CREATION = (*_NOT_FOR_A_REALM, SECRET_CREATED)


def with_creation_attributes(client: Client, before: Client | None = None) -> Client:
    """Return the client with the attributes that creation adds, or with those it had `before`."""
    added: Mapping[str, str] = _NOT_FOR_A_REALM
    if before is not None:
        had = before.attributes
        added = {name: had[name] for name in _FROM_CREATION if name in had}
    return with_attributes(client, {**added, **client.attributes})


def with_import_attributes(client: Client, before: Client | None, *, of_realm: bool) -> Client:
    """Return the client with the attribute that an import adds to new ones, or with its own.

    `of_realm` tells whether it is one of the two clients that stand for their realm.
    Keycloak: realm import (clients)
    """
    if before is not None or not of_realm:
        return client
    return with_attributes(client, {"realm_client": "true", **client.attributes})


def with_secret(client: Client, secret: Secret, created: datetime) -> Client:
    """Return the client with a new secret, which expires when the former one did."""
    return _with_times(replace(client, secret=secret), {SECRET_CREATED: created})


def with_secret_expiration(client: Client, end: datetime | None) -> Client:
    """Return the client whose secret expires at `end`, or never."""
    if end is None:
        return _without(client, SECRET_EXPIRES)
    return _with_times(client, {SECRET_EXPIRES: end})


def with_rotated_secret(
    client: Client, secret: Secret | None, created: datetime, end: datetime
) -> Client:
    """Return the client that has `secret` before the current one, accepted until `end`."""
    times = {ROTATED_CREATED: created, ROTATED_EXPIRES: end}
    return _with_times(replace(client, rotated_secret=secret), times)


def with_rotated_secret_expiration(client: Client, end: datetime) -> Client:
    """Return the client whose secret before the current one is accepted until `end`."""
    return _with_times(client, {ROTATED_EXPIRES: end})


def without_rotated_secret(client: Client) -> Client:
    """Return the client without the secret before the current one."""
    return _without(replace(client, rotated_secret=None), ROTATED_CREATED, ROTATED_EXPIRES)


def replace_secrets(
    document: Mapping[str, Any], replaced: Callable[[Mapping[str, Any], str], dict[str, Any]]
) -> dict[str, Any]:
    """Return the JSON object of a client after `replaced` for each object and name of a secret."""
    attributes = replaced(document.get("attributes", {}), ROTATED_SECRET)
    return {**replaced(document, "secret"), "attributes": attributes}


def _with_times(client: Client, times: Mapping[str, datetime]) -> Client:
    texts = {name: str(int(instant.timestamp())) for name, instant in times.items()}
    return with_attributes(client, {**client.attributes, **texts})


def _without(client: Client, *names: str) -> Client:
    removed = {*names, SECRET_REMAINING}
    kept = {name: text for name, text in client.attributes.items() if name not in removed}
    return with_attributes(client, kept)


REPRESENTATION: Final = "DeviceLockRepresentation"


def parse_device_lock(
    document: Mapping[str, Any], longest: timedelta
) -> tuple[str, timedelta | None]:
    """Return the device and for how long it is locked, None for the standard time.

    Raises UnknownField and InvalidInput.
    """
    most = int(longest.total_seconds())
    fields: Mapping[str, Shape] = {
        "device": Text(least=1, most=LONGEST_DEVICE_NAME),
        "seconds": Count(least=1, most=most, unit="seconds"),
    }
    given = parse_strictly(document, fields, REPRESENTATION)
    if "device" not in given:
        raise refused("device", None, "the whole name of a device in its certificate")
    seconds = given.get("seconds")
    return given["device"], None if seconds is None else timedelta(seconds=seconds)


def render_device_lock(lock: DeviceLock) -> dict[str, Any]:
    """Return the JSON object; `until` is ISO 8601, UTC."""
    until = lock.until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"device": lock.device, "cause": str(lock.cause), "until": until}
