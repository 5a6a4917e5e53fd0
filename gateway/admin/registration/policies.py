"""What registered clients may not have, shown as components that cannot be changed.

A client is registered with a token only: `Trusted Hosts`, which governs anonymous callers, trusts
no host here. Keycloak: the policies of a new realm (26.7)
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.components import NO_SUCH_COMPONENT
from gateway.admin.registration.registrars import refused_by_policy
from gateway.domain.clients import Client
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.component import Component, Config, merged, render_component
from gateway.representations.flows import default_id
from gateway.representations.provider_properties import ProviderDescription

POLICY_TYPE: Final = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
_ANONYMOUS: Final = "anonymous"
_AUTHENTICATED: Final = "authenticated"
_BOTH: Final = (_ANONYMOUS, _AUTHENTICATED)
_ALLOWED_MAPPERS: Final = (
    "oidc-address-mapper",
    "oidc-full-name-mapper",
    "oidc-sha256-pairwise-sub-mapper",
    "oidc-usermodel-attribute-mapper",
    "oidc-usermodel-property-mapper",
    "saml-role-list-mapper",
    "saml-user-attribute-mapper",
    "saml-user-property-mapper",
)
_POLICIES: Final[tuple[tuple[str, str, tuple[str, ...], Config], ...]] = (
    (
        "Trusted Hosts",
        "trusted-hosts",
        (_ANONYMOUS,),
        {
            "host-sending-registration-request-must-match": ("true",),
            "client-uris-must-match": ("true",),
        },
    ),
    ("Consent Required", "consent-required", (_ANONYMOUS,), {}),
    ("Full Scope Disabled", "scope", (_ANONYMOUS,), {}),
    ("Max Clients Limit", "max-clients", (_ANONYMOUS,), {"max-clients": ("200",)}),
    (
        *("Allowed Protocol Mapper Types", "allowed-protocol-mappers", _BOTH),
        {"allowed-protocol-mapper-types": _ALLOWED_MAPPERS},
    ),
    (
        *("Allowed Client Scopes", "allowed-client-templates", _BOTH),
        {"allow-default-scopes": ("true",)},
    ),
    ("Allowed Registration Web Origins", "registration-web-origins", _BOTH, {}),
)
_ALWAYS_GIVEN: Final = frozenset({"service_account"})
"""Scopes that come with a setting of the client."""
_FIXED: Final = "The policies of client registration cannot be changed in this version"


class RegistrationPolicies:
    """The components of one type, which are the same in every realm."""

    type = POLICY_TYPE
    providers: tuple[ProviderDescription, ...] = ()

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def list(self, stores: Stores, realm: Realm) -> tuple[Component, ...]:
        del stores
        return _policies(realm)

    async def create(self, acting: Acting, given: Component, document: Mapping[str, Any]) -> str:
        del acting, given, document
        raise InvalidRequest(_FIXED)

    async def replace(
        self, acting: Acting, component_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        """Accept a policy that is sent unchanged."""
        del document
        async with self._changes.begin(acting) as change:
            current = _one(change.realm, component_id)
            change.require_match(render_component(current))
            sent = (given.name, given.provider_id, given.sub_type)
            known = (current.name, current.provider_id, current.sub_type)
            changed = any(new not in (None, old) for new, old in zip(sent, known, strict=True))
            if changed or merged(current.config, given.config) != current.config:
                raise InvalidRequest(_FIXED)

    async def remove(self, acting: Acting, component_id: str) -> None:
        _one(acting.realm, component_id)
        raise InvalidRequest(_FIXED)


def require_allowed_mappers(after: Client, before: Client | None) -> None:
    """Raise RegistrationRefused for a mapper type that is not allowed; known mappers stay."""
    known = before.protocol_mappers if before else ()
    for mapper in after.protocol_mappers:
        if mapper not in known and mapper.mapper_type not in _ALLOWED_MAPPERS:
            raise refused_by_policy(
                "Allowed Protocol Mapper Types", "ProtocolMapper type not allowed"
            )


async def require_allowed_scopes(
    change: Change, wanted: Iterable[str], before: Client | None = None
) -> None:
    """Raise RegistrationRefused for a scope that the realm does not offer to new clients."""
    scopes = await change.stores.client_scopes.list(change.realm.id)
    offered = {scope.name for scope in scopes if scope.realm_default is not None}
    held = {*before.default_client_scopes, *before.optional_client_scopes} if before else set()
    if not {*wanted} <= offered | held | _ALWAYS_GIVEN:
        raise refused_by_policy(
            "Allowed Client Scopes", "Not permitted to use specified clientScope"
        )


def _one(realm: Realm, component_id: str) -> Component:
    found = next((each for each in _policies(realm) if each.id == component_id), None)
    if found is None:
        raise NotFound(NO_SUCH_COMPONENT)
    return found


def _policies(realm: Realm) -> tuple[Component, ...]:
    return tuple(
        Component(
            id=default_id(realm.id, "component", f"{name}\n{sub_type}"),
            name=name,
            provider_id=provider,
            provider_type=POLICY_TYPE,
            parent_id=realm.id,
            sub_type=sub_type,
            config=config,
        )
        for name, provider, sub_types, config in _POLICIES
        for sub_type in sub_types
    )
