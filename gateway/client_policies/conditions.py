"""The conditions of client policies: a class for each, and their table.

Keycloak: client policies (26.7)
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import ClassVar, Final, Self

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
from gateway.client_policies.interfaces import Condition, PolicyConfiguration, Vote, vote
from gateway.domain.clients import Client
from gateway.domain.groups import canonical_group_path

_PROPERTY = "acr-property"


@dataclass(frozen=True, slots=True)
class Acr(Condition):
    """Holds where the request asks for the `acr`, or the client does by default."""

    provider: ClassVar = "acr-condition"
    acr: str

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        acr = configuration.text(_PROPERTY)
        if not acr:
            raise InvalidConfiguration(f"{_PROPERTY} must be an acr")
        return cls(acr)

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return vote(self.acr in event.acr_values)
        return Vote.ABSTAIN


@dataclass(frozen=True, slots=True)
class AnyClient(Condition):
    """Holds always."""

    provider: ClassVar = "any-client"

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        del configuration
        return cls()

    def vote(self, event: PolicyEvent) -> Vote:
        del event
        return Vote.YES


@dataclass(frozen=True, slots=True)
class ClientAccessType(Condition):
    """Holds for clients of one of the `types`: confidential, public or bearer-only.

    Unlike Keycloak, it is also evaluated before an authorization request and at the endpoints of
    pushed requests and devices.
    """

    provider: ClassVar = "client-access-type"
    types: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        return cls(frozenset(configuration.texts("type")))

    def vote(self, event: PolicyEvent) -> Vote:
        client = event.proposed if isinstance(event, ClientChange) else event.client
        return vote(_access_type(client) in self.types)


def _access_type(client: Client) -> str:
    if client.public_client:
        return "public"
    return "bearer-only" if client.bearer_only else "confidential"


@dataclass(frozen=True, slots=True)
class ClientAttributes(Condition):
    """Holds for clients with all of `attributes`; None matches no client.

    The configuration is the text of a JSON list of objects with `key` and `value`. A key that is
    there twice matches no client.
    """

    provider: ClassVar = "client-attributes"
    attributes: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        text = configuration.text("attributes")
        if not text:
            return cls()
        try:
            pairs = [(item["key"], item["value"]) for item in json.loads(text)]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidConfiguration(
                "attributes is no JSON list of objects with key and value"
            ) from error
        if any(not isinstance(each, str) for pair in pairs for each in pair):
            raise InvalidConfiguration("a key or a value of attributes is no text")
        counted = Counter(key for key, _ in pairs)
        return cls(tuple(pairs) if all(number == 1 for number in counted.values()) else None)

    def vote(self, event: PolicyEvent) -> Vote:
        client = event.proposed if isinstance(event, ClientChange) else event.client
        if self.attributes is None:
            return Vote.NO
        return vote(all(client.attributes.get(key) == value for key, value in self.attributes))


@dataclass(frozen=True, slots=True)
class ClientRoles(Condition):
    """Holds for clients that own one of the `roles`.

    A client that is created owns none.
    """

    provider: ClassVar = "client-roles"
    roles: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        return cls(frozenset(configuration.texts("roles")))

    def vote(self, event: PolicyEvent) -> Vote:
        if event.own_roles is None:
            return Vote.ABSTAIN
        return vote(not self.roles.isdisjoint(event.own_roles))


_DEFAULT: Final = "Default"
_OPTIONAL: Final = "Optional"
_ANY: Final = "Any"
_KINDS: Final = TOKEN_REQUESTS | {
    EventKind.USERINFO_REQUEST,
    EventKind.IMPLICIT_HYBRID_TOKEN_RESPONSE,
}


@dataclass(frozen=True, slots=True)
class ClientScopes(Condition):
    """Holds for default scopes that the client has, or optional ones that a request asks for."""

    provider: ClassVar = "client-scopes"
    type: str = _DEFAULT
    scopes: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        kind = configuration.text("type") or _DEFAULT
        if kind not in {_DEFAULT, _OPTIONAL, _ANY}:
            raise InvalidConfiguration(f"type is {kind[:50]!r}, allowed is Default, Optional, Any")
        return cls(kind, frozenset(configuration.texts("scopes")))

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return self._vote(event, event.scopes)
        if isinstance(event, ClientRequest) and event.kind in _KINDS:
            return self._vote(event, event.scopes or ())
        return Vote.ABSTAIN

    def _vote(
        self, event: AuthorizationRequested | ClientRequest, requested: Iterable[str]
    ) -> Vote:
        client, found = event.client, set[str]()
        if self.type != _OPTIONAL:
            found |= self.scopes.intersection(client.default_client_scopes)
        if self.type != _DEFAULT:
            found |= self.scopes.intersection(client.optional_client_scopes).intersection(requested)
        return vote(bool(found))


@dataclass(frozen=True, slots=True)
class ClientType(Condition):
    """Holds for clients of the protocol, `openid-connect` or `saml`; an empty one says nothing."""

    provider: ClassVar = "client-type"
    protocol: str = ""

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        return cls(configuration.text("protocol"))

    def vote(self, event: PolicyEvent) -> Vote:
        if not self.protocol:
            return Vote.ABSTAIN
        client = event.proposed if isinstance(event, ClientChange) else event.client
        return vote(client.protocol == self.protocol)


@dataclass(frozen=True, slots=True)
class ClientUpdaterContext(Condition):
    """Holds by the right by which a client is created or changed: one of the `sources`.

    The values are those of UpdateSource.
    """

    provider: ClassVar = "client-updater-context"
    sources: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        return cls(frozenset(configuration.texts("update-client-source")))

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in CHANGES:
            return Vote.ABSTAIN
        return vote(event.updater.source in self.sources)


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceGroups(Condition):
    """Holds for changes by members of one of the groups with these `paths`.

    A name without a slash at its beginning is that of a group at the top.
    """

    provider: ClassVar = "client-updater-source-groups"
    paths: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        names = configuration.texts("groups")
        return cls(frozenset(map(canonical_group_path, names)))

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in CHANGES:
            return Vote.ABSTAIN
        return vote(not self.paths.isdisjoint(event.updater.groups))


_LOCALHOST: Final = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceHost(Condition):
    """Holds for changes from addresses in one of the `networks`.

    Unlike in Keycloak names are never looked up, so that no answer of DNS is trusted: a host is an
    address, a network such as `10.0.0.0/8`, or `localhost`. Another name is refused.
    """

    provider: ClassVar = "client-updater-source-host"
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        hosts = configuration.texts("trusted-hosts")
        names = [name for host in hosts for name in (_LOCALHOST if host == "localhost" else [host])]
        try:
            return cls(tuple(ip_network(name) for name in names))
        except ValueError as error:
            raise InvalidConfiguration(
                f"trusted-hosts: {error}; names of hosts are not looked up"
            ) from error

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in {
            EventKind.REGISTER,
            EventKind.UPDATE,
        }:
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
    roles: frozenset[Role] = frozenset()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        return cls(frozenset(map(_parse_role, configuration.texts("roles"))))

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in {
            EventKind.REGISTER,
            EventKind.UPDATE,
        }:
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
    """Holds for one of the `grants`; a hybrid response type is of two.

    Keycloak takes a response type with a code for authorization_code alone, and says nothing about
    the request that redeems the code.
    """

    provider: ClassVar = "grant-type"
    grants: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        names = ("grantTypes", "grant_types")
        return cls(frozenset(grant for name in names for grant in configuration.texts(name)))

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
