"""Client registration policies, their providers and settings, and initial access tokens.

A policy applies to anonymous or to authenticated registration, by its `subType`; a policy without a
`subType` applies to neither. Keycloak: ClientRegistrationPolicy (26.7), whose labels are keys of
texts in its consoles; ClientInitialAccessCreatePresentation, ClientInitialAccessPresentation
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows import GONE, default_id
from gateway.domain.tables import build_value, read_table
from gateway.representations.components import (
    Component,
    Config,
    ProviderDescription,
    SettingKind,
)
from gateway.representations.field_table import parse_strictly
from gateway.representations.shapes import MAX_INTEGER, Count, Shape, TextList

POLICY_TYPE: Final = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
ANONYMOUS: Final = "anonymous"
AUTHENTICATED: Final = "authenticated"

TRUSTED_HOSTS: Final = "trusted-hosts"
SENDER_MUST_MATCH: Final = "host-sending-registration-request-must-match"
URIS_MUST_MATCH: Final = "client-uris-must-match"
MAX_CLIENTS: Final = "max-clients"
ALLOWED_MAPPERS: Final = "allowed-protocol-mapper-types"
ALLOWED_SCOPES: Final = "allowed-client-scopes"
DEFAULT_SCOPES: Final = "allow-default-scopes"
_WEB_ORIGINS: Final = "web-origins"
_OPENID: Final = "openid"
"""A scope of every request, and not one of the realm's."""
_SEVERAL: Final = frozenset({SettingKind.CHOICES, SettingKind.TEXTS})
_REQUIRED: Final = {
    MAX_CLIENTS: "Max Clients Per Realm",
    SENDER_MUST_MATCH: "Host Sending Client Registration Request Must Match",
    URIS_MUST_MATCH: "Client URIs Must Match",
}
"""Settings that must be sent, by the names that errors have for them."""
_POLICY_MEMBERS: Final = (("name", "name"), ("providerId", "provider_id"), ("subType", "sub_type"))


_TABLE: Final = read_table("gateway.representations", "registration_policies.toml")
POLICY_PROVIDERS: Final[tuple[ProviderDescription, ...]] = build_value(
    tuple[ProviderDescription, ...], _TABLE["providers"]
)
_PROPERTIES: Final = {each.id: each.properties for each in POLICY_PROVIDERS}


def default_policies(realm_id: str) -> dict[str, Component]:
    """Return the policies that a realm is created with, by id."""
    policies = (
        Component(
            id=default_id(realm_id, "component", f"{row['name']}\n{sub_type}"),
            name=row["name"],
            provider_id=row["provider_id"],
            provider_type=POLICY_TYPE,
            parent_id=realm_id,
            sub_type=sub_type,
            config=build_value(Config, row.get("config", {})),
        )
        for row in _TABLE["policies"]
        for sub_type in row["sub_types"]
    )
    return {str(policy.id): policy for policy in policies}


def policies_in(realm_id: str, documents: Mapping[str, Mapping[str, Any]]) -> tuple[Component, ...]:
    """Return the policies of a realm: the default ones, and the stored ones."""
    found: dict[str, Component] = dict(default_policies(realm_id))
    for policy_id, document in documents.items():
        if document == GONE:
            found.pop(policy_id, None)
        else:
            found[policy_id] = _restored(realm_id, policy_id, document)
    return tuple(found.values())


def policy_document(policy: Component) -> dict[str, Any]:
    """Return the stored document of a policy."""
    members = {name: getattr(policy, attribute) for name, attribute in _POLICY_MEMBERS}
    return members | {"config": {name: list(texts) for name, texts in policy.config.items()}}


def _restored(realm_id: str, policy_id: str, document: Mapping[str, Any]) -> Component:
    members = {attribute: document[name] for name, attribute in _POLICY_MEMBERS}
    config = {name: tuple(texts) for name, texts in document["config"].items()}
    return Component(
        id=policy_id,
        provider_type=POLICY_TYPE,
        parent_id=realm_id,
        config=config,
        **members,
    )


def checked_config(provider: str, config: Config, scopes: Iterable[str]) -> Config:
    """Return the settings that the provider has; raises UnusableSetting for a wrong one.

    `scopes` are the names of the realm's client scopes.
    """
    properties = _PROPERTIES[provider]
    for each in properties:
        if each.kind not in _SEVERAL:
            label = _REQUIRED.get(each.name)
            checked = each if label is None else replace(each, label=label, required=True)
            checked.parse_value(config.get(each.name, ()))
    unknown = {*config.get(ALLOWED_SCOPES, ())} - {*scopes, _OPENID}
    if unknown:
        raise UnusableSetting(f"Client scopes not allowed: [{', '.join(sorted(unknown))}]")
    if config.get(_WEB_ORIGINS):
        raise UnusableSetting(
            f"'{_WEB_ORIGINS}' has no effect: the web origins of a token decide which pages may"
            " use it"
        )
    names = {each.name for each in properties}
    kept = {name: values for name, values in config.items() if name in names and values}
    _require_effect(provider, kept)
    return kept


def single_value(policy: Component, name: str) -> str | None:
    """Return a setting of one value, or its default."""
    (known,) = (each for each in _PROPERTIES[str(policy.provider_id)] if each.name == name)
    return known.parse_value(policy.config.get(name, ()))


def is_on(policy: Component, name: str) -> bool:
    """Return whether a switch of the policy is on."""
    return single_value(policy, name) == "true"


def described_policies(
    scopes: Iterable[str], mapper_types: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Yield the providers with the options of a realm."""
    options = {ALLOWED_SCOPES: (*scopes, _OPENID), ALLOWED_MAPPERS: tuple(mapper_types)}
    for provider in POLICY_PROVIDERS:
        properties = tuple(
            replace(each, options=options.get(each.name, ())) for each in provider.properties
        )
        yield replace(provider, properties=properties).document()


def _require_effect(provider: str, config: Config) -> None:
    """Require of trusted hosts that they restrict something."""
    switches = (SENDER_MUST_MATCH, URIS_MUST_MATCH)
    if provider == TRUSTED_HOSTS and all(config.get(each) == ("false",) for each in switches):
        raise UnusableSetting(
            "At least one of hosts verification or client URIs validation must be enabled"
        )


_REPRESENTATION: Final = "ClientInitialAccessCreatePresentation"
_ACCESS_FIELDS: Final[Mapping[str, Shape]] = {
    "expiration": Count(least=-MAX_INTEGER, unit="seconds"),
    "count": Count(least=-MAX_INTEGER),
    "webOrigins": TextList(),
}
_MEMBERS: Final = {
    **{name: name for name in ("id", "timestamp", "expiration", "count")},
    "remainingCount": "remaining",
}


@dataclass(frozen=True, slots=True)
class InitialAccess:
    """A token by which some clients may be registered. Instants are seconds since 1970.

    `expiration` is its lifetime in seconds, 0 without an end.
    """

    id: str
    timestamp: int
    expiration: int
    count: int
    remaining: int
    web_origins: tuple[str, ...] = ()

    @property
    def expires_at(self) -> int:
        """When it expires, 0 for never."""
        return self.timestamp + self.expiration if self.expiration else 0

    def is_spent(self, now: int) -> bool:
        return self.remaining == 0 or 0 < self.expires_at <= now


def parse_initial_access(document: Mapping[str, Any]) -> tuple[int, int, tuple[str, ...]]:
    """Return expiration, count and web origins as they were sent; raises InvalidInput."""
    given = parse_strictly(document, _ACCESS_FIELDS, _REPRESENTATION)
    return given.get("expiration", 0), given.get("count", 1), given.get("webOrigins", ())


def render_initial_access(access: InitialAccess) -> dict[str, Any]:
    """Return the JSON object of an initial access."""
    return {name: getattr(access, attribute) for name, attribute in _MEMBERS.items()}


def stored_initial_access(access: InitialAccess) -> dict[str, Any]:
    """Return the stored document of an initial access."""
    return {**render_initial_access(access), "webOrigins": list(access.web_origins)}


def restore_initial_access(document: Mapping[str, Any]) -> InitialAccess:
    """Return the initial access of a stored document."""
    values = {attribute: document[name] for name, attribute in _MEMBERS.items()}
    return InitialAccess(**values, web_origins=tuple(document["webOrigins"]))
