"""Keys of a realm: their providers as components, and their public data.

A key that cannot be used safely is refused: RSA keys below 2048 bits, HMAC secrets shorter than
the hash, curves that no token is signed with. Keys for encryption are listed and published; nothing
is encrypted or decrypted with them yet, and their descriptions say so.
Keycloak: the providers of org.keycloak.keys.KeyProvider, KeysMetadataRepresentation
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.keys import (
    IMPORTERS,
    SHORTEST_SECRETS,
    EncryptionAlgorithm,
    KeyAlgorithm,
    KeyProvider,
    KeyStatus,
    RealmKey,
    SecretAlgorithm,
    SignatureAlgorithm,
    key_algorithm,
)
from gateway.domain.ports.signing import PublicKeyData
from gateway.domain.secrets import Secret
from gateway.domain.tables import build_value, read_table
from gateway.representations.components import (
    Component,
    Config,
    ProviderDescription,
    parse_properties,
)
from gateway.representations.field_table import without_none
from gateway.representations.shapes import MASK, Milliseconds

KEY_PROVIDER_TYPE: Final = "org.keycloak.keys.KeyProvider"
PRIVATE_KEY: Final = "privateKey"
CERTIFICATE: Final = "certificate"
_CERTIFIED: Final = "ecGenerateCertificate"
_CURVE: Final = "ecdsaEllipticCurveKey"
_EDWARDS_CURVE: Final = "eddsaEllipticCurveKey"
_USE: Final = "keyUse"
_FOR_ENCRYPTION: Final = frozenset(
    {KeyProvider.RSA_ENC_GENERATED, KeyProvider.AES_GENERATED, KeyProvider.RSA_ENC}
)
_KID: Final = "kid"
_LONGEST_KID: Final = 255
_SIZES: Final = ("keySize", "secretSize")

_CURVES: Final[Mapping[str, SignatureAlgorithm]] = {
    "P-256": SignatureAlgorithm.ES256,
    "P-384": SignatureAlgorithm.ES384,
    "P-521": SignatureAlgorithm.ES512,
    "Ed25519": SignatureAlgorithm.EDDSA,
}
_CURVE_OF: Final = {algorithm: curve for curve, algorithm in _CURVES.items()}
_TABLE: Final = read_table("gateway.representations", "key_providers.toml")
KEY_PROVIDERS: Final[tuple[ProviderDescription, ...]] = build_value(
    tuple[ProviderDescription, ...],
    [
        {**row, "properties": [*_TABLE["standing"], *row["properties"]]}
        for row in _TABLE["providers"]
    ],
)
"""Each provider, and its settings in the order in which they are checked."""
_PROPERTIES: Final = {each.id: each.properties for each in KEY_PROVIDERS}


@dataclass(frozen=True, slots=True)
class KeySettings:
    """The requested key. `size` is in bits, or in bytes of a secret; None is the default size."""

    priority: int
    status: KeyStatus
    algorithm: KeyAlgorithm
    size: int | None
    certified: bool
    private_key: Secret | None = field(repr=False)
    certificate: str | None = field(repr=False)
    config: Mapping[str, str] = field(repr=False)
    """The given settings, which are stored with the key: nothing secret."""
    kid: str | None = None
    """The kid of a key to import; None computes it from the key."""


def parse_key_settings(provider: KeyProvider, config: Config) -> KeySettings:
    """Return the settings in a component's `config`; raises UnusableSetting."""
    values = parse_properties(_PROPERTIES[provider], config)
    _require_use(provider, config)
    size = next((values[name] for name in _SIZES if values.get(name)), None)
    given = values.get(PRIVATE_KEY)
    algorithm = _algorithm(provider, values, config)
    _require_length(algorithm, size)
    return KeySettings(
        priority=int(values["priority"] or 0),
        status=_status(values),
        algorithm=algorithm,
        size=None if size is None else int(size),
        certified=values.get(_CERTIFIED, "true") == "true",
        private_key=None if given in {None, MASK} else Secret(str(given)),
        certificate=values.get(CERTIFICATE),
        config={name: str(text) for name, text in values.items() if _is_kept(name, config)},
        kid=_kid(provider, config),
    )


def same_material(before: KeySettings, after: KeySettings) -> bool:
    """Return whether a key made by one of the settings fits the other."""
    return after.private_key is None and (
        (before.algorithm, before.size, before.certified, before.certificate)
        == (after.algorithm, after.size, after.certified, after.certificate)
    )


def key_component(key: RealmKey) -> Component:
    """Return the key as a component: its settings, and its status now."""
    standard = key.name is None and key.provider is None  # No settings were given.
    return Component(
        id=key.id,
        name=standard_name(key.algorithm, key.made_by) if standard else key.name,
        provider_id=key.made_by.value,
        provider_type=KEY_PROVIDER_TYPE,
        parent_id=key.realm_id,
        config={name: (text,) for name, text in _config(key).items()},
    )


def standard_name(algorithm: KeyAlgorithm, provider: KeyProvider) -> str:
    """Return what Keycloak calls a key that a realm is created with."""
    if isinstance(algorithm, SecretAlgorithm):
        return f"{provider}-{algorithm.lower()}"
    return provider.value


def standard_config(algorithm: KeyAlgorithm, priority: int) -> dict[str, str]:
    """Return the settings of a key that the program itself has made."""
    if algorithm is EncryptionAlgorithm.AES:
        return {"priority": str(priority)}
    curve = _CURVE_OF.get(algorithm) if isinstance(algorithm, SignatureAlgorithm) else None
    if curve is None:
        return {"priority": str(priority), "algorithm": algorithm.value}
    name = _EDWARDS_CURVE if algorithm is SignatureAlgorithm.EDDSA else _CURVE
    return {"priority": str(priority), name: curve}


def _is_kept(name: str, config: Config) -> bool:
    """Return whether a setting is shown: given ones, and the curve, as Keycloak does."""
    return name != PRIVATE_KEY and (bool(config.get(name)) or name in {_CURVE, _EDWARDS_CURVE})


def _config(key: RealmKey) -> dict[str, str]:
    standard = key.provider is None  # No settings were given.
    shown = standard_config(key.algorithm, key.priority) if standard else dict(key.config)
    if standard and key.algorithm is SignatureAlgorithm.RS256:
        del shown["algorithm"]  # Keycloak omits the usual algorithm
    if key.provider in IMPORTERS:
        shown = {PRIVATE_KEY: MASK, **shown}
    if key.status is KeyStatus.DISABLED:
        shown["enabled"] = "false"
    elif key.status is KeyStatus.PASSIVE:
        shown["active"] = "false"
    return shown


def _status(values: Mapping[str, str | None]) -> KeyStatus:
    if values["enabled"] == "false":
        return KeyStatus.DISABLED
    return KeyStatus.PASSIVE if values["active"] == "false" else KeyStatus.ACTIVE


def _kid(provider: KeyProvider, config: Config) -> str | None:
    """Return the kid of a key to import, which Keycloak reads and describes nowhere.

    The kid in the file of a generated key is not that of the key that is generated here.
    """
    kid = next(iter(config.get(_KID, ())), "").strip()
    if provider not in IMPORTERS or not kid:
        return None
    if len(kid) > _LONGEST_KID or not kid.isprintable():
        raise UnusableSetting(f"'{_KID}' should be at most {_LONGEST_KID} printable characters")
    return kid


def _require_use(provider: KeyProvider, config: Config) -> None:
    """Refuse a key that is for encryption where it would sign, and the other way round."""
    use = "ENC" if provider in _FOR_ENCRYPTION else "SIG"
    if any(given.upper() != use for given in config.get(_USE, ())):
        raise UnusableSetting(f"'{_USE}' of '{provider}' can only be {use}")


def _require_length(algorithm: KeyAlgorithm, size: str | None) -> None:
    least = SHORTEST_SECRETS.get(algorithm, 0)
    if size is not None and int(size) < least:
        raise UnusableSetting(f"'Secret size' should be at least {least} for {algorithm}")


def _algorithm(
    provider: KeyProvider, values: Mapping[str, str | None], config: Config
) -> KeyAlgorithm:
    if provider is KeyProvider.AES_GENERATED:
        return EncryptionAlgorithm.AES
    if provider is KeyProvider.HMAC_GENERATED and not config.get("algorithm"):
        return SecretAlgorithm.HS256  # Keycloak makes this key, and describes HS512 as the default.
    curve = values.get(_CURVE) or values.get(_EDWARDS_CURVE)
    return key_algorithm(str(values.get("algorithm"))) if curve is None else _CURVES[curve]


@dataclass(frozen=True, slots=True)
class ShownKey:
    """Public data and current status of a key."""

    key: RealmKey
    data: PublicKeyData
    status: KeyStatus
    signs: bool


def render_keys(keys: Iterable[ShownKey]) -> dict[str, Any]:
    """Return the JSON object: the key that signs by algorithm, and all keys in that order."""
    shown = sorted(keys, key=lambda each: (-each.key.priority, each.key.id))
    return {
        "active": {each.key.algorithm.value: each.key.kid for each in shown if each.signs},
        "keys": [_render_key(each) for each in shown],
    }


def _render_key(shown: ShownKey) -> dict[str, Any]:
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
        "use": "ENC" if isinstance(key.algorithm, EncryptionAlgorithm) else "SIG",
        "validTo": end,
    }
    return without_none(document)
