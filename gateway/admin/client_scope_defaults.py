"""The built-in client scopes of a realm, and the client scopes of a realm file.

The built-in ones are added once, to realms that have none: a deleted one stays deleted.
An import adds new scopes, changes known ones, and removes none. Which scopes new clients get is a
setting: the whole list. Roles are put into scopes, none taken out.
Keycloak: built-in client scopes (26.7); realm import, client scopes
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import RoleIndex
from gateway.domain.client_scopes import IN_TOKEN_SCOPE, ClientScope, RealmDefault
from gateway.domain.clients import OPENID_CONNECT, ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.users import HolderKind, RoleHolder
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.representations.realm_files import ScopeMapping, ScopesInput, parse_realm_scopes
from gateway.representations.refusals import collect_refusals, describe, join, raise_all, refused
from gateway.representations.roles import RoleName

OFFLINE_ACCESS: Final = "offline_access"
"""The scope, and the realm role that a user needs for it."""

_DEFAULT, _OPTIONAL = RealmDefault.DEFAULT, RealmDefault.OPTIONAL
_SAML: Final = "saml"
_ATTRIBUTE: Final = "oidc-usermodel-attribute-mapper"
_NOTE: Final = "oidc-usersessionmodel-note-mapper"
_REALM_ROLES: Final = "oidc-usermodel-realm-role-mapper"

_INTROSPECTION: Final = {"introspection.token.claim": "true"}
_ACCESS: Final = {**_INTROSPECTION, "access.token.claim": "true"}
_TOKENS: Final = {**_ACCESS, "id.token.claim": "true"}
_EVERYWHERE: Final = {**_TOKENS, "userinfo.token.claim": "true"}


def _mapper(
    name: str, mapper_type: str, config: Mapping[str, str], protocol: str = OPENID_CONNECT
) -> ProtocolMapper:
    return ProtocolMapper("", name, mapper_type, config, protocol)


def _claim(claim: str, json_type: str = "String") -> dict[str, str]:
    return {"claim.name": claim, "jsonType.label": json_type}


def _attribute(name: str, attribute: str, claim: str, json_type: str = "String") -> ProtocolMapper:
    config = {**_EVERYWHERE, "user.attribute": attribute, **_claim(claim, json_type)}
    return _mapper(name, _ATTRIBUTE, config)


def _note(name: str, note: str, claim: str, json_type: str = "String") -> ProtocolMapper:
    config = {**_TOKENS, "user.session.note": note, **_claim(claim, json_type)}
    return _mapper(name, _NOTE, config)


def _roles(name: str, mapper_type: str, claim: str, where: Mapping[str, str]) -> ProtocolMapper:
    config = {**where, "multivalued": "true", "user.attribute": "foo", **_claim(claim)}
    return _mapper(name, mapper_type, config)


def _consent(text: str) -> dict[str, str]:
    return {"display.on.consent.screen": "true", "consent.screen.text": f"${{{text}}}"}


def _shown(text: str, *, named: bool = True) -> dict[str, str]:
    return {IN_TOKEN_SCOPE: "true" if named else "false", **_consent(text)}


_UNSEEN: Final = {IN_TOKEN_SCOPE: "false", "display.on.consent.screen": "false"}
_ADDRESS: Final = ("street", "locality", "region", "postal_code", "country", "formatted")


def _scope(
    name: str,
    description: str,
    attributes: Mapping[str, str],
    mappers: tuple[ProtocolMapper, ...],
    *,
    listed: RealmDefault | None,
    protocol: str = OPENID_CONNECT,
) -> ClientScope:
    return ClientScope("", "", name, description, protocol, attributes, mappers, listed)


def _openid(
    name: str, mappers: tuple[ProtocolMapper, ...], listed: RealmDefault | None
) -> ClientScope:
    """Return one of the scopes of OpenID Connect Core §5.4."""
    attributes = _shown(f"{name}ScopeConsentText")
    description = f"OpenID Connect built-in scope: {name}"
    return _scope(name, description, attributes, mappers, listed=listed)


_SAME_NAME: Final = [
    "nickname",
    "profile",
    "picture",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
]
_PROFILE: Final = (
    _mapper("full name", "oidc-full-name-mapper", _EVERYWHERE),
    _attribute("username", "username", "preferred_username"),
    _attribute("given name", "firstName", "given_name"),
    _attribute("family name", "lastName", "family_name"),
    _attribute("middle name", "middleName", "middle_name"),
    *(_attribute(name, name, name) for name in _SAME_NAME),
    _attribute("updated at", "updatedAt", "updated_at", "long"),
)
_VERIFIED: Final = _mapper(
    "email verified",
    "oidc-usermodel-property-mapper",
    {**_EVERYWHERE, "user.attribute": "emailVerified", **_claim("email_verified", "boolean")},
)
_ORGANIZATION: Final = _mapper(
    "organization",
    "oidc-organization-membership-mapper",
    {**_TOKENS, "multivalued": "true", **_claim("organization")},
)

_BUILT_IN: Final = (
    _scope(
        OFFLINE_ACCESS,
        "OpenID Connect built-in scope: offline_access",
        _consent("offlineAccessScopeConsentText"),
        (),
        listed=_OPTIONAL,
    ),
    _scope(
        "role_list",
        "SAML role list",
        _consent("samlRoleListScopeConsentText"),
        (
            _mapper(
                "role list",
                "saml-role-list-mapper",
                {"single": "false", "attribute.nameformat": "Basic", "attribute.name": "Role"},
                _SAML,
            ),
        ),
        listed=_DEFAULT,
        protocol=_SAML,
    ),
    _scope(
        "saml_organization",
        "Organization Membership",
        {"display.on.consent.screen": "false"},
        (_mapper("organization", "saml-organization-membership-mapper", {}, _SAML),),
        listed=_DEFAULT,
        protocol=_SAML,
    ),
    _scope(
        "AuthnContextClassRef",
        "AuthnContextClassRef Level of Authentiation",
        {},
        (_mapper("AuthnContextClassRef", "saml-authn-context-class-ref-mapper", {}, _SAML),),
        listed=_DEFAULT,
        protocol=_SAML,
    ),
    _openid("profile", _PROFILE, _DEFAULT),
    _openid("email", (_attribute("email", "email", "email"), _VERIFIED), _DEFAULT),
    _openid(
        "address",
        (
            _mapper(
                "address",
                "oidc-address-mapper",
                {**_EVERYWHERE, **{f"user.attribute.{part}": part for part in _ADDRESS}},
            ),
        ),
        _OPTIONAL,
    ),
    _openid(
        "phone",
        (
            _attribute("phone number", "phoneNumber", "phone_number"),
            _attribute(
                "phone number verified", "phoneNumberVerified", "phone_number_verified", "boolean"
            ),
        ),
        _OPTIONAL,
    ),
    _scope(
        "roles",
        "OpenID Connect scope for add user roles to the access token",
        _shown("rolesScopeConsentText", named=False),
        (
            _roles("realm roles", _REALM_ROLES, "realm_access.roles", _ACCESS),
            _roles(
                "client roles",
                "oidc-usermodel-client-role-mapper",
                "resource_access.${client_id}.roles",
                _ACCESS,
            ),
            _mapper("audience resolve", "oidc-audience-resolve-mapper", _ACCESS),
        ),
        listed=_DEFAULT,
    ),
    _scope(
        "web-origins",
        "OpenID Connect scope for add allowed web origins to the access token",
        {**_UNSEEN, "consent.screen.text": ""},
        (_mapper("allowed web origins", "oidc-allowed-origins-mapper", _ACCESS),),
        listed=_DEFAULT,
    ),
    _scope(
        "microprofile-jwt",
        "Microprofile - JWT built-in scope",
        {IN_TOKEN_SCOPE: "true", "display.on.consent.screen": "false"},
        (
            _attribute("upn", "username", "upn"),
            _roles("groups", _REALM_ROLES, "groups", _TOKENS),
        ),
        listed=_OPTIONAL,
    ),
    _scope(
        "acr",
        "OpenID Connect scope for add acr (authentication context class reference) to the token",
        _UNSEEN,
        (_mapper("acr loa level", "oidc-acr-mapper", _TOKENS),),
        listed=_DEFAULT,
    ),
    _scope(
        "basic",
        "OpenID Connect scope for add all basic claims to the token",
        _UNSEEN,
        (
            _note("auth_time", "AUTH_TIME", "auth_time", "long"),
            _mapper("sub", "oidc-sub-mapper", _ACCESS),
        ),
        listed=_DEFAULT,
    ),
    _scope(
        "service_account",
        "Specific scope for a client enabled for service accounts",
        _UNSEEN,
        (
            _note("Client ID", "client_id", "client_id"),
            _note("Client Host", "clientHost", "clientHost"),
            _note("Client IP Address", "clientAddress", "clientAddress"),
        ),
        listed=None,
    ),
    _scope(
        "organization",
        "Additional claims about the organization a subject belongs to",
        _shown("organizationScopeConsentText"),
        (_ORGANIZATION,),
        listed=_OPTIONAL,
    ),
)


def _with_ids(scope: ClientScope, realm_id: str) -> ClientScope:
    mappers = tuple(replace(mapper, id=str(uuid4())) for mapper in scope.mappers)
    return replace(scope, id=str(uuid4()), realm_id=realm_id, mappers=mappers)


def default_client_scopes(realm_id: str) -> tuple[ClientScope, ...]:
    """Return the scopes of a new realm, each with ids of its own."""
    return tuple(_with_ids(scope, realm_id) for scope in _BUILT_IN)


async def ensure_client_scopes(stores: Stores, realm_id: str, offline_role: str) -> bool:
    """Add the built-in client scopes to a realm that has none; return whether any was added.

    `offline_role` is the id of the role that a user must have for offline access.
    """
    if await stores.client_scopes.list(realm_id):
        return False
    for scope in default_client_scopes(realm_id):
        await stores.client_scopes.add(realm_id, scope)
        if scope.name == OFFLINE_ACCESS:
            holder = RoleHolder(HolderKind.CLIENT_SCOPE, scope.id)
            await stores.role_catalogue.give(realm_id, holder, [offline_role])
    return True


async def read_scopes(
    stores: Stores, realm_id: str, document: Mapping[str, Any], path: str
) -> ScopesInput:
    """Return the client scopes of the file; raises InvalidInput."""
    known = await _by_name(stores, realm_id) if realm_id else {}
    # Very many scopes take seconds to check: other requests go on meanwhile.
    given = await asyncio.to_thread(parse_realm_scopes, document, realm_id, known, path)
    return given if known else _with_offline_access(given, document, realm_id)


def _with_offline_access(
    given: ScopesInput, document: Mapping[str, Any], realm_id: str
) -> ScopesInput:
    """Return the scopes of a new realm; one with scopes of its own has offline access too."""
    has_own = document.get("clientScopes", document.get("client_scopes")) is not None
    if not has_own or any(scope.name == OFFLINE_ACCESS for scope in given.scopes):
        return given
    (scope,) = (one for one in default_client_scopes(realm_id) if one.name == OFFLINE_ACCESS)
    roles = (RoleName(OFFLINE_ACCESS),)
    mapping = ScopeMapping(None, OFFLINE_ACCESS, roles, "scopeMappings")
    optional = given.optional
    return replace(
        given,
        scopes=(*given.scopes, scope),
        optional=None if optional is None else (*optional, OFFLINE_ACCESS),
        mappings=(*given.mappings, mapping),
    )


async def scopes_of_clients(
    stores: Stores, realm_id: str, given: ScopesInput
) -> tuple[ClientScope, ...]:
    """Return the client scopes of the realm after the import, with how new clients get them.

    A new realm whose file has no scopes gets the built-in ones.
    """
    known = await _by_name(stores, realm_id) if realm_id else {}
    known |= {scope.name: scope for scope in given.scopes}
    scopes = tuple(known.values()) or default_client_scopes(realm_id)
    return tuple(
        replace(scope, realm_default=_kind(scope.name, scope.realm_default, given))
        for scope in scopes
    )


async def store_scopes(stores: Stores, realm: Realm, given: ScopesInput) -> bool:
    """Store the scopes themselves; return whether anything has changed."""
    known = await _by_name(stores, realm.id)
    changed = False
    for scope in given.scopes:
        before = known.get(scope.name)
        if before is None:
            await stores.client_scopes.add(realm.id, scope)
        elif scope != before:
            await stores.client_scopes.put(realm.id, scope)
        changed |= scope != before
    return changed


async def store_defaults(stores: Stores, realm: Realm, given: ScopesInput) -> bool:
    """Store which scopes new clients get; return whether anything has changed."""
    known = await _by_name(stores, realm.id)
    raise_all(
        FieldError(given.place(name), describe(scope), "the name of a client scope")
        for name, scopes in (
            ("defaultDefaultClientScopes", given.default),
            ("defaultOptionalClientScopes", given.optional),
        )
        for scope in scopes or ()
        if scope not in known
    )
    changed = False
    for scope in known.values():
        listed = _kind(scope.name, scope.realm_default, given)
        if listed is not scope.realm_default:
            await stores.client_scopes.put(realm.id, replace(scope, realm_default=listed))
            changed = True
    return changed


def _kind(name: str, before: RealmDefault | None, given: ScopesInput) -> RealmDefault | None:
    """Return how new clients get a scope once the file is imported."""
    lists = {RealmDefault.DEFAULT: given.default, RealmDefault.OPTIONAL: given.optional}
    for kind, names in lists.items():
        if name in (names or ()):
            return kind
    return None if before is not None and lists[before] is not None else before


async def store_scope_mappings(
    stores: Stores, realm: Realm, given: ScopesInput, roles: RoleIndex
) -> bool:
    """Add roles to scopes; return whether there were any. Raises InvalidInput."""
    if not given.mappings:
        return False
    errors: list[FieldError] = []
    scopes = await _by_name(stores, realm.id)
    clients = await stores.clients.ids(realm.id)
    ids = {name: scope.id for name, scope in scopes.items()}
    for mapping in given.mappings:
        with collect_refusals(errors):
            role_ids = roles.ids(mapping.roles, mapping.at, ("roles", "roles"))
            holder = _holder(mapping, clients, ids)
            await stores.role_catalogue.give(realm.id, holder, role_ids)
    raise_all(errors)
    return True


def _holder(
    mapping: ScopeMapping, clients: Mapping[str, str], scopes: Mapping[str, str]
) -> RoleHolder:
    kind, field, name, known = (
        (HolderKind.CLIENT, "client", mapping.client, clients)
        if mapping.client is not None
        else (HolderKind.CLIENT_SCOPE, "clientScope", mapping.client_scope, scopes)
    )
    if name is None or name not in known:
        allowed = "a client of the realm" if kind is HolderKind.CLIENT else "a client scope of it"
        raise refused(join(mapping.at, field), name, allowed)
    return RoleHolder(kind, known[name])


async def _by_name(stores: Stores, realm_id: str) -> dict[str, ClientScope]:
    return {scope.name: scope for scope in await stores.client_scopes.list(realm_id)}
