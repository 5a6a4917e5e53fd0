"""The types of protocol mappers as clients are told of them: names, and what may be set.

Keycloak: ProtocolMapperTypeRepresentation; the options that say where a claim goes come from the
mapper itself
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
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


def _text(name: str, label: str, told: str) -> Property:
    return Property(name, label, told)


def _flag(name: str, label: str, told: str) -> Property:
    return Property(name, label, told, Kind.FLAG)


@dataclass(frozen=True, slots=True)
class MapperType:
    """A type: its name for people, where it stands among others, and its own settings."""

    name: str
    help: str
    properties: tuple[Property, ...] = ()
    priority: int = 0


_ADDRESS: Final = ("street", "locality", "region", "postal_code", "country", "formatted")
_PREFIX: Final = "rolePrefix"

MAPPER_TYPES: Final[Mapping[str, MapperType]] = {
    "oidc-sub-mapper": MapperType("Subject (sub)", "Who it is", priority=-10),
    "oidc-acr-mapper": MapperType(
        "Authentication Context Class Reference (ACR)", "How strong the sign-in was"
    ),
    "oidc-amr-mapper": MapperType(
        "Authentication Method Reference (AMR)", "By what the user has signed in"
    ),
    "oidc-allowed-origins-mapper": MapperType(
        "Allowed Web Origins", "From where browsers may call the client"
    ),
    "oidc-audience-mapper": MapperType(
        "Audience",
        "Adds one audience",
        (
            _text("included.client.audience", "Included Client Audience", "A client's id"),
            _text("included.custom.audience", "Included Custom Audience", "Any text"),
        ),
    ),
    "oidc-audience-resolve-mapper": MapperType(
        "Audience Resolve", "Adds the clients of which the user has roles", priority=30
    ),
    "oidc-role-name-mapper": MapperType(
        "Role Name Mapper",
        "Calls a role by another name",
        (_ROLE, _text("new.role.name", "New Role Name", "The other name")),
        10,
    ),
    "oidc-hardcoded-role-mapper": MapperType(
        "Hardcoded Role", "Adds a role that the user need not have", (_ROLE,), 20
    ),
    "oidc-usermodel-realm-role-mapper": MapperType(
        "User Realm Role",
        "The user's roles of the realm",
        (
            _text(f"usermodel.realmRoleMapping.{_PREFIX}", "Realm Role prefix", "Before each"),
            *(_SEVERAL, *_CLAIM),
        ),
        40,
    ),
    "oidc-usermodel-client-role-mapper": MapperType(
        "User Client Role",
        "The user's roles of clients",
        (
            _text("usermodel.clientRoleMapping.clientId", "Client ID", "One client, or all"),
            _text(f"usermodel.clientRoleMapping.{_PREFIX}", "Client Role prefix", "Before each"),
            *(_SEVERAL, *_CLAIM),
        ),
        40,
    ),
    "oidc-full-name-mapper": MapperType("User's full name", "First and last name together"),
    "oidc-group-membership-mapper": MapperType(
        "Group Membership",
        "The user's groups",
        (_NAME, _flag("full.path", "Full group path", "Whether with those above")),
    ),
    "oidc-usermodel-attribute-mapper": MapperType(
        "User Attribute",
        "An attribute of the user",
        (
            _text("user.attribute", "User Attribute", "The attribute's name"),
            *(*_CLAIM, _SEVERAL),
            _flag("aggregate.attrs", "Aggregate attribute values", "Whether with the groups'"),
        ),
    ),
    "oidc-usermodel-property-mapper": MapperType(
        "User Property",
        "A field of the user",
        (_text("user.attribute", "Property", "The field's name"), *_CLAIM),
    ),
    "oidc-address-mapper": MapperType(
        "User Address",
        "The user's postal address",
        tuple(
            _text(f"user.attribute.{part}", f"User Attribute Name for {part}", "The attribute")
            for part in _ADDRESS
        ),
    ),
    "oidc-hardcoded-claim-mapper": MapperType(
        "Hardcoded claim",
        "The same for everybody",
        (_NAME, _text("claim.value", "Claim value", "What it says"), _JSON_TYPE),
    ),
    "oidc-usersessionmodel-note-mapper": MapperType(
        "User Session Note",
        "A note of the session",
        (_text("user.session.note", "User Session Note", "The note's name"), *_CLAIM),
    ),
    "oidc-session-state-mapper": MapperType(
        "Session State (session_state)", "The id of the session"
    ),
}


def write_mapper_type(mapper_type: str, purposes: Iterable[str]) -> dict[str, Any]:
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


def write_built_in(mappers: Iterable[ProtocolMapper]) -> list[dict[str, Any]]:
    """Return mappers that are to be had ready-made, each name once."""
    named = {mapper.name: mapper for mapper in mappers}
    return [
        {
            "name": mapper.name,
            "protocol": mapper.protocol,
            "protocolMapper": mapper.mapper_type,
            "consentRequired": False,
            "config": dict(mapper.config),
        }
        for mapper in named.values()
    ]
