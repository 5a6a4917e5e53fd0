"""The types of protocol mappers: names, and what may be set.

Keycloak: ProtocolMapperTypeRepresentation; the options that say where a claim goes come from the
mapper itself
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.representations.protocol_mappers import render_mapper
from gateway.representations.provider_properties import Kind, Property

_JSON_TYPES: Final = ("String", "long", "int", "boolean", "JSON")
_NAME: Final = Property("claim.name", "Token Claim Name", "Dots make an object of it")
_JSON_TYPE: Final = Property(
    *("jsonType.label", "Claim JSON Type", "The type of the claim", Kind.CHOICE),
    options=_JSON_TYPES,
)
_SEVERAL: Final = Property("multivalued", "Multivalued", "Whether it is a list", Kind.FLAG)
_CLAIM: Final = (_NAME, _JSON_TYPE)
_ROLE: Final = Property("role", "Role", "A role of the realm, or client.role")


_ADDRESS: Final = ("street", "locality", "region", "postal_code", "country", "formatted")
_ROLE_PREFIX: Final = (
    ("usermodel.realmRoleMapping.rolePrefix", "Realm Role prefix", "Before each"),
    ("usermodel.clientRoleMapping.rolePrefix", "Client Role prefix", "Before each"),
)


@dataclass(frozen=True, slots=True)
class MapperType:
    """A type: its name for people, where it stands among others, and its own settings."""

    name: str
    help: str
    properties: tuple[Property, ...]
    priority: int


_PROPERTIES: Final[Mapping[str, tuple[Property, ...]]] = {
    "oidc-audience-mapper": (
        Property("included.client.audience", "Included Client Audience", "A client's id"),
        Property("included.custom.audience", "Included Custom Audience", "Any text"),
    ),
    "oidc-role-name-mapper": (_ROLE, Property("new.role.name", "New Role Name", "The other name")),
    "oidc-hardcoded-role-mapper": (_ROLE,),
    "oidc-usermodel-realm-role-mapper": (Property(*_ROLE_PREFIX[0]), _SEVERAL, *_CLAIM),
    "oidc-usermodel-client-role-mapper": (
        Property("usermodel.clientRoleMapping.clientId", "Client ID", "One client, or all"),
        *(Property(*_ROLE_PREFIX[1]), _SEVERAL, *_CLAIM),
    ),
    "oidc-group-membership-mapper": (
        _NAME,
        Property("full.path", "Full group path", "Whether with those above", Kind.FLAG),
    ),
    "oidc-usermodel-attribute-mapper": (
        Property("user.attribute", "User Attribute", "The attribute's name"),
        *(*_CLAIM, _SEVERAL),
        Property(
            *("aggregate.attrs", "Aggregate attribute values", "Whether with the groups'"),
            Kind.FLAG,
        ),
    ),
    "oidc-usermodel-property-mapper": (
        Property("user.attribute", "Property", "The field's name"),
        *_CLAIM,
    ),
    "oidc-address-mapper": tuple(
        Property(f"user.attribute.{part}", f"User Attribute Name for {part}", "The attribute")
        for part in _ADDRESS
    ),
    "oidc-hardcoded-claim-mapper": (
        _NAME,
        Property("claim.value", "Claim value", "What it says"),
        _JSON_TYPE,
    ),
    "oidc-usersessionmodel-note-mapper": (
        Property("user.session.note", "User Session Note", "The note's name"),
        *_CLAIM,
    ),
}
_TABLE: Final = """
oidc-sub-mapper | -10 | Subject (sub) | Who it is
oidc-acr-mapper | 0 | Authentication Context Class Reference (ACR) | How strong the sign-in was
oidc-amr-mapper | 0 | Authentication Method Reference (AMR) | By what the user has signed in
oidc-allowed-origins-mapper | 0 | Allowed Web Origins | From where browsers may call the client
oidc-audience-mapper | 0 | Audience | Adds one audience
oidc-audience-resolve-mapper | 30 | Audience Resolve | Adds the clients of which the user has roles
oidc-role-name-mapper | 10 | Role Name Mapper | Calls a role by another name
oidc-hardcoded-role-mapper | 20 | Hardcoded Role | Adds a role that the user need not have
oidc-usermodel-realm-role-mapper | 40 | User Realm Role | The user's roles of the realm
oidc-usermodel-client-role-mapper | 40 | User Client Role | The user's roles of clients
oidc-full-name-mapper | 0 | User's full name | First and last name together
oidc-group-membership-mapper | 0 | Group Membership | The user's groups
oidc-usermodel-attribute-mapper | 0 | User Attribute | An attribute of the user
oidc-usermodel-property-mapper | 0 | User Property | A field of the user
oidc-address-mapper | 0 | User Address | The user's postal address
oidc-hardcoded-claim-mapper | 0 | Hardcoded claim | The same for everybody
oidc-usersessionmodel-note-mapper | 0 | User Session Note | A note of the session
oidc-session-state-mapper | 0 | Session State (session_state) | The id of the session
"""
"""A type: its id, its priority, its name, and what it does."""


def _types() -> Iterator[tuple[str, MapperType]]:
    for line in _TABLE.strip().split("\n"):
        mapper_type, priority, name, text = line.split(" | ")
        properties = _PROPERTIES.get(mapper_type, ())
        yield mapper_type, MapperType(name, text, properties, int(priority))


MAPPER_TYPES: Final = dict(_types())


def render_mapper_type(mapper_type: str, purposes: Iterable[str]) -> dict[str, Any]:
    """Return the JSON object of a type whose claims may serve those purposes."""
    known = MAPPER_TYPES[mapper_type]
    options = (
        Property(each, f"Add to {each.partition('.')[0]}", "Whether it goes there", Kind.FLAG)
        for each in sorted(purposes)
    )
    return {
        "id": mapper_type,
        "name": known.name,
        "category": "Token mapper",
        "helpText": known.help,
        "priority": known.priority,
        "properties": [each.document() for each in (*known.properties, *options)],
    }


def render_built_in(mappers: Iterable[ProtocolMapper]) -> list[dict[str, Any]]:
    """Return the built-in mappers, each name once."""
    named = {mapper.name: mapper for mapper in mappers}
    return [
        {name: value for name, value in render_mapper(mapper).items() if name != "id"}
        for mapper in named.values()
    ]
