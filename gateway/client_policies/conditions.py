"""The conditions of client policies, with their table. Keycloak: client policies (26.7)."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import ClassVar, Final

from gateway.client_policies.events import (
    CHANGES,
    TOKEN_REQUESTS,
    AuthorizationRequested,
    ClientChange,
    ClientRequest,
    EventKind,
    InvalidConfiguration,
    PolicyEvent,
)
from gateway.client_policies.interfaces import (
    Condition,
    PolicyConfiguration,
    Vote,
    option,
    set_option,
    vote,
)
from gateway.domain.clients import Client
from gateway.domain.groups import canonical_group_path


def _required_acr(configuration: PolicyConfiguration) -> str:
    acr = configuration.text("acr-property")
    if not acr:
        raise InvalidConfiguration("acr-property must be an acr")
    return acr


@dataclass(frozen=True, slots=True)
class Acr(Condition):
    """Holds where the request asks for the `acr`, or the client does by default."""

    provider: ClassVar = "acr-condition"
    acr: str = option(_required_acr)

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return vote(self.acr in event.acr_values)
        return Vote.ABSTAIN


@dataclass(frozen=True, slots=True)
class AnyClient(Condition):
    """Holds always."""

    provider: ClassVar = "any-client"

    def vote(self, event: PolicyEvent) -> Vote:
        return Vote.YES


@dataclass(frozen=True, slots=True)
class ClientAccessType(Condition):
    """Holds for clients of one of the `types`; unlike in Keycloak, at every endpoint."""

    provider: ClassVar = "client-access-type"
    types: frozenset[str] = set_option("type")

    def vote(self, event: PolicyEvent) -> Vote:
        client = event.proposed if isinstance(event, ClientChange) else event.client
        return vote(_access_type(client) in self.types)


def _access_type(client: Client) -> str:
    if client.public_client:
        return "public"
    return "bearer-only" if client.bearer_only else "confidential"


def _parse_attributes(
    configuration: PolicyConfiguration,
) -> frozenset[tuple[str, str]] | None:
    """Parse the JSON text of a list of objects with `key` and `value`; None for a repeated key."""
    text = configuration.text("attributes")
    if not text:
        return None
    try:
        pairs = [(item["key"], item["value"]) for item in json.loads(text)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = "attributes is no JSON list of objects with key and value"
        raise InvalidConfiguration(message) from error
    if any(not isinstance(each, str) for pair in pairs for each in pair):
        raise InvalidConfiguration("a key or a value of attributes is no text")
    return frozenset(pairs) if len(dict(pairs)) == len(pairs) else None


@dataclass(frozen=True, slots=True)
class ClientAttributes(Condition):
    """Holds for clients with all of `attributes`; None matches no client."""

    provider: ClassVar = "client-attributes"
    attributes: frozenset[tuple[str, str]] | None = option(_parse_attributes, None)

    def vote(self, event: PolicyEvent) -> Vote:
        client = event.proposed if isinstance(event, ClientChange) else event.client
        if self.attributes is None:
            return Vote.NO
        return vote(self.attributes <= client.attributes.items())


@dataclass(frozen=True, slots=True)
class ClientRoles(Condition):
    """Holds for clients that own one of the `roles`; a new client owns none."""

    provider: ClassVar = "client-roles"
    roles: frozenset[str] = set_option("roles")

    def vote(self, event: PolicyEvent) -> Vote:
        if event.own_roles is None:
            return Vote.ABSTAIN
        return vote(not self.roles.isdisjoint(event.own_roles))


_DEFAULT: Final = "Default"
_OPTIONAL: Final = "Optional"
_ANY: Final = "Any"
_SCOPED_KINDS: Final = TOKEN_REQUESTS | {
    EventKind.AUTHORIZATION_REQUEST,
    EventKind.USERINFO_REQUEST,
    EventKind.IMPLICIT_HYBRID_TOKEN_RESPONSE,
}


def _scope_type(configuration: PolicyConfiguration) -> str:
    kind = configuration.text("type") or _DEFAULT
    if kind not in {_DEFAULT, _OPTIONAL, _ANY}:
        raise InvalidConfiguration(f"type is {kind[:50]!r}, allowed is Default, Optional, Any")
    return kind


@dataclass(frozen=True, slots=True)
class ClientScopes(Condition):
    """Holds for default scopes that the client has, or optional ones that a request asks for."""

    provider: ClassVar = "client-scopes"
    type: str = option(_scope_type, _DEFAULT)
    scopes: frozenset[str] = set_option("scopes")

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, AuthorizationRequested | ClientRequest) or (
            event.kind not in _SCOPED_KINDS
        ):
            return Vote.ABSTAIN
        client, requested, found = event.client, event.scopes or (), set[str]()
        if self.type != _OPTIONAL:
            found |= self.scopes.intersection(client.default_client_scopes)
        if self.type != _DEFAULT:
            found |= self.scopes.intersection(client.optional_client_scopes).intersection(requested)
        return vote(bool(found))


@dataclass(frozen=True, slots=True)
class ClientType(Condition):
    """Holds for clients of the protocol, `openid-connect` or `saml`; an empty one says nothing."""

    provider: ClassVar = "client-type"
    protocol: str = option(lambda options: options.text("protocol"), "")

    def vote(self, event: PolicyEvent) -> Vote:
        if not self.protocol:
            return Vote.ABSTAIN
        client = event.proposed if isinstance(event, ClientChange) else event.client
        return vote(client.protocol == self.protocol)


@dataclass(frozen=True, slots=True)
class ClientUpdaterContext(Condition):
    """Holds where the update source of a client change is one of the `sources`."""

    provider: ClassVar = "client-updater-context"
    sources: frozenset[str] = set_option("update-client-source")

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in CHANGES:
            return Vote.ABSTAIN
        return vote(event.updater.source in self.sources)


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceGroups(Condition):
    """Holds for changes by members of a group; a name without leading slash is top-level."""

    provider: ClassVar = "client-updater-source-groups"
    paths: frozenset[str] = option(
        lambda configuration: frozenset(map(canonical_group_path, configuration.texts("groups"))),
        frozenset(),
    )

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in CHANGES:
            return Vote.ABSTAIN
        return vote(not self.paths.isdisjoint(event.updater.groups))


_LOCALHOST: Final = ("127.0.0.1", "::1")
_UPDATES: Final = frozenset({EventKind.REGISTER, EventKind.UPDATE})
Network = IPv4Network | IPv6Network


def _parse_networks(configuration: PolicyConfiguration) -> tuple[Network, ...]:
    hosts = configuration.texts("trusted-hosts")
    names = [name for host in hosts for name in (_LOCALHOST if host == "localhost" else [host])]
    try:
        return tuple(ip_network(name) for name in names)
    except ValueError as error:
        message = f"trusted-hosts: {error}; names of hosts are not looked up"
        raise InvalidConfiguration(message) from error


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceHost(Condition):
    """Holds for changes from addresses in one of the `networks`.

    Unlike in Keycloak, names are never looked up, so no DNS answer is trusted: a host is an
    address, a network such as `10.0.0.0/8`, or `localhost`. Other names are refused.
    """

    provider: ClassVar = "client-updater-source-host"
    networks: tuple[Network, ...] = option(_parse_networks, ())

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in _UPDATES:
            return Vote.ABSTAIN
        try:
            address = ip_address(event.updater.address or "")
        except ValueError:
            return Vote.NO
        return vote(any(address in network for network in self.networks))


_DOT: Final = re.compile(r"(~*)\.")
Role = tuple[str | None, str]
"""Public name of the client, None for a role of the realm, and name of the role."""


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceRoles(Condition):
    """Holds for changes by users with one of the `roles`.

    A role of a client is written `client_id.role`: the last dot separates them. A dot in the name
    of a role is written `~.`, and a `~` in front of a dot `~~`, so two roles never have one text.
    """

    provider: ClassVar = "client-updater-source-roles"
    roles: frozenset[Role] = option(
        lambda configuration: frozenset(map(_parse_role, configuration.texts("roles"))), frozenset()
    )

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in _UPDATES:
            return Vote.ABSTAIN
        return vote(not self.roles.isdisjoint(event.updater.roles.pairs()))


def _parse_role(text: str) -> Role:
    names, end = [""], 0
    for dot in _DOT.finditer(text):
        literal, is_escaped = divmod(len(dot[1]), 2)
        names[-1] += text[end : dot.start()] + "~" * literal + ("." if is_escaped else "")
        if not is_escaped:
            names.append("")
        end = dot.end()
    names[-1] += text[end:]
    *client, role = names
    return ".".join(client) if client else None, role


_GRANTS: Final[Mapping[EventKind, str]] = {
    EventKind.TOKEN_REQUEST: "authorization_code",
    EventKind.IMPLICIT_HYBRID_TOKEN_RESPONSE: "implicit",
    EventKind.TOKEN_REFRESH: "refresh_token",
    EventKind.RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST: "password",
    EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST: "client_credentials",
    EventKind.DEVICE_TOKEN_REQUEST: "urn:ietf:params:oauth:grant-type:device_code",
    EventKind.TOKEN_EXCHANGE_REQUEST: "urn:ietf:params:oauth:grant-type:token-exchange",
}
_RESPONSE_TYPES: Final[Mapping[str, str]] = {
    "code": "authorization_code",
    "token": "implicit",
    "id_token": "implicit",
}


@dataclass(frozen=True, slots=True)
class GrantType(Condition):
    """Holds for one of the `grants`; a hybrid response type belongs to two.

    Keycloak counts a response type with a code as authorization_code alone, and does not evaluate
    the condition for the request that redeems the code.
    """

    provider: ClassVar = "grant-type"
    grants: frozenset[str] = option(
        lambda configuration: frozenset(
            configuration.texts("grantTypes") + configuration.texts("grant_types")
        ),
        frozenset(),
    )

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return vote(not self.grants.isdisjoint(_grants_of(event.response_type)))
        if isinstance(event, ClientRequest) and event.kind in _GRANTS:
            return vote(_GRANTS[event.kind] in self.grants)
        return Vote.ABSTAIN


def _grants_of(response_type: frozenset[str]) -> frozenset[str]:
    return frozenset(_RESPONSE_TYPES[each] for each in response_type if each in _RESPONSE_TYPES)


CONDITIONS: Final[Mapping[str, type[Condition]]] = {
    condition.provider: condition
    for condition in (
        Acr,
        AnyClient,
        ClientAccessType,
        ClientAttributes,
        ClientRoles,
        ClientScopes,
        ClientType,
        ClientUpdaterContext,
        ClientUpdaterSourceGroups,
        ClientUpdaterSourceHost,
        ClientUpdaterSourceRoles,
        GrantType,
    )
}
"""Keycloak's id -> condition."""
