"""Client registration policies: their rules by provider, their components, and those in effect.

Anonymous callers and the clients that they registered are subject to the policies of `anonymous`,
all others to those of `authenticated`. Only what differs from a new realm is stored.

Host names of `trusted-hosts` are never looked up, so that no request waits for DNS and no answer of
DNS is trusted: a name matches the URIs of a client, an address its sender as well.
Keycloak: ClientRegistrationPolicyManager, ClientRegistrationPolicyProvider (26.7), whose texts
these are; components of org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, Final, Self
from urllib.parse import urlsplit

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Administration, Change
from gateway.admin.components import NO_SUCH_COMPONENT, NO_SUCH_PROVIDER, component_path
from gateway.admin.registration.registrars import refused_by_policy
from gateway.domain.clients import Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import GONE
from gateway.domain.limits.rate_limits import RateLimit, client_registrations
from gateway.domain.ports.storage import Database, DocumentKind, Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, WireFamily, duplicate_resource
from gateway.representations.clients import own_urls, redirect_uris, with_fields
from gateway.representations.components import Component, merged, render_component
from gateway.representations.registration_policies import (
    ALLOWED_MAPPERS,
    ALLOWED_SCOPES,
    ANONYMOUS,
    AUTHENTICATED,
    DEFAULT_SCOPES,
    MAX_CLIENTS,
    POLICY_PROVIDERS,
    POLICY_TYPE,
    SENDER_MUST_MATCH,
    TRUSTED_HOSTS,
    URIS_MUST_MATCH,
    checked_config,
    default_policies,
    described_policies,
    is_on,
    policies_in,
    policy_document,
    single_value,
)

_KIND: Final = DocumentKind.COMPONENT
_MOST: Final = 100
"""Policies of a realm: each registration reads all of them."""
_PROVIDERS: Final = frozenset(each.id for each in POLICY_PROVIDERS)


async def realm_policies(stores: Stores, realm_id: str) -> tuple[Component, ...]:
    """Return the policies of a realm."""
    return policies_in(realm_id, await stores.documents.list_documents(realm_id, _KIND))


async def checked_policy(stores: Stores, realm_id: str, policy: Component) -> Component:
    """Return the policy with the settings that its provider has; raises UnusableSetting."""
    scopes = [scope.name for scope in await stores.client_scopes.list_values(realm_id)]
    return replace(policy, config=checked_config(str(policy.provider_id), policy.config, scopes))


async def put_policy(stores: Stores, realm_id: str, policy: Component) -> None:
    """Store a policy, in place of the one with its id."""
    await stores.documents.put_document(realm_id, _KIND, str(policy.id), policy_document(policy))


async def remove_policy(stores: Stores, realm_id: str, policy_id: str) -> None:
    """Remove a policy; one of every new realm is marked as removed."""
    if policy_id in default_policies(realm_id):
        await stores.documents.put_document(realm_id, _KIND, policy_id, GONE)
    else:
        await stores.documents.remove_document(realm_id, _KIND, policy_id)


class RegistrationPolicies(Administration):
    """The components of one type."""

    type = POLICY_TYPE
    providers = POLICY_PROVIDERS

    async def list_components(self, stores: Stores, realm: Realm) -> tuple[Component, ...]:
        return await realm_policies(stores, realm.id)

    async def create_component(
        self, acting: Acting, given: Component, document: Mapping[str, Any]
    ) -> str:
        """Add a policy and return its id; raises InvalidRequest and UnusableSetting."""
        if given.provider_id not in _PROVIDERS:
            raise InvalidRequest(NO_SUCH_PROVIDER, WireFamily.PROSE)
        policy = replace(given, id=given.id or str(uuid4()))
        async with self._changes.begin(acting, alone=True) as change:
            known = await realm_policies(change.stores, change.realm.id)
            if any(other.id == policy.id for other in known):
                raise duplicate_resource()
            if len(known) >= _MOST:
                raise InvalidRequest(f"A realm has at most {_MOST} client registration policies")
            policy = await checked_policy(change.stores, change.realm.id, policy)
            await put_policy(change.stores, change.realm.id, policy)
            path = component_path(str(policy.id))
            change.record(OperationType.CREATE, ResourceType.COMPONENT, path, document)
        return str(policy.id)

    async def replace_component(
        self, acting: Acting, component_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        """Change a policy; raises NotFound, InvalidRequest, UnusableSetting, PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            current = await _get_policy(change, component_id)
            if given.provider_id not in {None, current.provider_id}:
                raise InvalidRequest("The provider of a policy cannot be changed: add another one")
            policy = replace(
                current,
                name=given.name or current.name,
                sub_type=given.sub_type or current.sub_type,
                config=merged(current.config, given.config),
            )
            policy = await checked_policy(change.stores, change.realm.id, policy)
            if policy != current:
                await put_policy(change.stores, change.realm.id, policy)
            path = component_path(component_id)
            change.record(OperationType.UPDATE, ResourceType.COMPONENT, path, document)

    async def remove_component(self, acting: Acting, component_id: str) -> None:
        """Remove a policy; raises NotFound and PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            await _get_policy(change, component_id)
            await remove_policy(change.stores, change.realm.id, component_id)
            path = component_path(component_id)
            change.record(OperationType.DELETE, ResourceType.COMPONENT, path)


class PolicyProviders:
    """Describes what policies a realm may be given; `mapper_types` are those of mappers."""

    def __init__(self, database: Database, mapper_types: Collection[str]) -> None:
        self._database = database
        self._mapper_types = mapper_types

    async def list_providers(self, realm: Realm) -> list[dict[str, Any]]:
        """Return the providers with the client scopes and mapper types to choose from."""
        async with self._database.read() as stores:
            scopes = await stores.client_scopes.list_values(realm.id)
        names = (scope.name for scope in scopes)
        return list(described_policies(names, self._mapper_types))


async def _get_policy(change: Change, component_id: str) -> Component:
    known = await realm_policies(change.stores, change.realm.id)
    found = existing(
        next((each for each in known if each.id == component_id), None), NO_SUCH_COMPONENT
    )
    change.require_match(render_component, found)
    return found


_ALWAYS_GIVEN: Final = frozenset({"service_account"})
"""Scopes that come with a setting of the client."""
_LOCALHOST: Final = ("127.0.0.1", "::1")
_ANY_BELOW: Final = "*."


class PolicyViolation(Exception):
    """A policy does not permit the client; `str()` is public."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A client as it would be registered or changed; `before` is None for a new one.

    `scopes` are the requested ones, None where they stay; `offered` are the realm's default
    and optional ones.
    """

    after: Client
    before: Client | None
    scopes: Collection[str] | None
    offered: Collection[str]


@dataclass(frozen=True, slots=True)
class RegistrationRule:
    """The rule of a policy: it sets fields of new clients, and raises PolicyViolation."""

    forced: Mapping[str, Any] = field(default_factory=dict)
    sender: Callable[[Component, str | None], None] = lambda _, __: None
    client: Callable[[Component, Registration], None] = lambda _, __: None
    most_clients: Callable[[Component], int | None] = lambda _: None


def _trusted_sender(policy: Component, address: str | None) -> None:
    if is_on(policy, SENDER_MUST_MATCH) and not _is_trusted_sender(policy, address):
        raise PolicyViolation("Host not trusted.")


def _is_trusted_sender(policy: Component, address: str | None) -> bool:
    try:
        sender = ip_address(address or "")
    except ValueError:
        return False
    return any(text == str(sender) for text in _addresses(policy))


def _addresses(policy: Component) -> Iterator[str]:
    """Yield the trusted addresses, each in its one spelling."""
    for host in policy.config.get(TRUSTED_HOSTS, ()):
        if host == "localhost":
            yield from _LOCALHOST
        try:
            yield str(ip_address(host))
        except ValueError:
            continue


def _trusted_uris(policy: Component, registration: Registration) -> None:
    if not is_on(policy, URIS_MUST_MATCH):
        return
    client = registration.after
    for kind, addresses in (("URL", own_urls(client)), ("URI", redirect_uris(client))):
        if not all(_is_trusted_uri(policy, address) for address in addresses):
            raise PolicyViolation(f"{kind} doesn't match any trusted host or trusted domain")


def _is_trusted_uri(policy: Component, address: str) -> bool:
    if address.startswith("/") and address[1:2] not in {"/", "\\"}:
        return True  # Below the root URL of the client, which is checked itself.
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return False
    trusted = [each.lower() for each in policy.config.get(TRUSTED_HOSTS, ())]
    domains = [each.removeprefix(_ANY_BELOW) for each in trusted if each.startswith(_ANY_BELOW)]
    below = tuple(f".{domain}" for domain in domains)
    return host is not None and (host in {*trusted, *domains} or host.endswith(below))


def _kept_consent(_: Component, registration: Registration) -> None:
    before, after = registration.before, registration.after
    if before and before.consent_required and not after.consent_required:
        raise PolicyViolation("Not permitted to update consentRequired to false")


def _kept_scope(_: Component, registration: Registration) -> None:
    before, after = registration.before, registration.after
    if before and not before.full_scope_allowed and after.full_scope_allowed:
        raise PolicyViolation("Not permitted to enable fullScopeAllowed")


def _kept_disabled(_: Component, registration: Registration) -> None:
    before, after = registration.before, registration.after
    if before and not before.enabled and after.enabled:
        raise PolicyViolation("Not permitted to enable client")


def _allowed_mappers(policy: Component, registration: Registration) -> None:
    """Mappers that the client has already stay."""
    before, allowed = registration.before, policy.config.get(ALLOWED_MAPPERS, ())
    known = before.protocol_mappers if before else ()
    for mapper in registration.after.protocol_mappers:
        if mapper not in known and mapper.mapper_type not in allowed:
            raise PolicyViolation("ProtocolMapper type not allowed")


def _allowed_scopes(policy: Component, registration: Registration) -> None:
    """Scopes that the client has already stay."""
    before, allowed = registration.before, {*policy.config.get(ALLOWED_SCOPES, ()), *_ALWAYS_GIVEN}
    if is_on(policy, DEFAULT_SCOPES):
        allowed |= {*registration.offered}
    if before:
        allowed |= {*before.default_client_scopes, *before.optional_client_scopes}
    if not {*(registration.scopes or ())} <= allowed:
        raise PolicyViolation("Not permitted to use specified clientScope")


RULES: Final[Mapping[str, RegistrationRule]] = {
    "allowed-client-templates": RegistrationRule(client=_allowed_scopes),
    "allowed-protocol-mappers": RegistrationRule(client=_allowed_mappers),
    "client-disabled": RegistrationRule({"enabled": False}, client=_kept_disabled),
    "consent-required": RegistrationRule({"consentRequired": True}, client=_kept_consent),
    "max-clients": RegistrationRule(
        most_clients=lambda policy: int(single_value(policy, MAX_CLIENTS) or 0)
    ),
    "registration-web-origins": RegistrationRule(),
    "scope": RegistrationRule({"fullScopeAllowed": False}, client=_kept_scope),
    TRUSTED_HOSTS: RegistrationRule(sender=_trusted_sender, client=_trusted_uris),
}
"""The rule of each provider that `POLICY_PROVIDERS` describes."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a realm for one caller; violations raise RegistrationRefused."""

    realm_id: str
    policies: tuple[Component, ...]

    @classmethod
    async def load_policies(cls, stores: Stores, realm_id: str, *, anonymous: bool) -> Self:
        """Read the policies for a caller."""
        sub_type = ANONYMOUS if anonymous else AUTHENTICATED
        every = await realm_policies(stores, realm_id)
        return cls(realm_id, tuple(policy for policy in every if policy.sub_type == sub_type))

    def require_sender(self, address: str | None) -> None:
        """Require that requests may come from the address."""
        for policy in self.policies:
            with _refused_by(policy) as rule:
                rule.sender(policy, address)

    async def require_room(self, stores: Stores) -> RateLimit:
        """Require that the realm may have one more client; return the limit of registrations."""
        limits = [client_registrations(None, 0)]
        for policy in self.policies:
            with _refused_by(policy) as rule:
                most = rule.most_clients(policy)
                if most is None:
                    continue
                known = len(await stores.clients.ids(self.realm_id))
                if known >= most:
                    raise PolicyViolation(f"It's allowed to have max {most} clients per realm")
                limits.append(client_registrations(most, known))
        return min(limits, key=lambda limit: limit.of_network)

    def completed(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the document of a new client with the fields that policies set."""
        whole = dict(document)
        for policy in self.policies:
            whole = with_fields(whole, _rule(policy).forced)
        return whole

    async def require_permitted(
        self,
        stores: Stores,
        after: Client,
        *,
        before: Client | None = None,
        scopes: Collection[str] | None = None,
    ) -> None:
        """Require that a client may be registered, or changed, as `after` says."""
        listed = await stores.client_scopes.list_values(self.realm_id) if scopes else ()
        offered = {scope.name for scope in listed if scope.realm_default is not None}
        registration = Registration(after, before, scopes, offered)
        for policy in self.policies:
            with _refused_by(policy) as rule:
                rule.client(policy, registration)


def _rule(policy: Component) -> RegistrationRule:
    return RULES[str(policy.provider_id)]


@contextmanager
def _refused_by(policy: Component) -> Iterator[RegistrationRule]:
    """Yield the rule of a policy, whose name is part of the refusal."""
    try:
        yield _rule(policy)
    except PolicyViolation as error:
        raise refused_by_policy(policy.name or "", str(error)) from error
