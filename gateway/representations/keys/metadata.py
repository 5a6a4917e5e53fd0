"""What may be known of a realm's keys. Keycloak: KeysMetadataRepresentation."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateway.domain.keys import KeyStatus, RealmKey
from gateway.domain.ports.signing import PublicKeyData
from gateway.representations.field_table import without_none
from gateway.representations.shapes import Milliseconds


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key with what may be shown of it, and what it may do now."""

    key: RealmKey
    data: PublicKeyData
    status: KeyStatus
    signs: bool


def write_keys(keys: Iterable[ShownKey]) -> dict[str, Any]:
    """Return the JSON object: the key that signs by algorithm, and all keys in that order."""
    shown = sorted(keys, key=lambda each: (-each.key.priority, each.key.id))
    return {
        "active": {each.key.algorithm.value: each.key.kid for each in shown if each.signs},
        "keys": [_write(each) for each in shown],
    }


def _write(shown: ShownKey) -> dict[str, Any]:
    key, data = shown.key, shown.data
    end = None if data.valid_to is None else Milliseconds().write(data.valid_to)
    document = {
        "providerId": key.id,
        "providerPriority": key.priority,
        "kid": key.kid,
        "status": shown.status.value,
        "type": data.kind,
        "algorithm": key.algorithm.value,
        "publicKey": data.public_key,
        "certificate": data.certificate,
        "use": "SIG",
        "validTo": end,
    }
    return without_none(document)
