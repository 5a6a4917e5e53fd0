"""How a type of protocol mappers is described: names, and what may be set.

Keycloak: ProtocolMapperTypeRepresentation; the options that say where a claim goes come from the
mapper itself
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.representations.protocol_mappers import render_mapper
from gateway.representations.provider_properties import Kind, Property

SECTOR_URI: Final = "sectorIdentifierUri"
_JSON_TYPES: Final = ("String", "long", "int", "boolean", "JSON")
CLAIM_PATH: Final = Property("claim.name", "Token Claim Name", "Dots make an object of it")
CLAIM_TYPE: Final = Property(
    *("jsonType.label", "Claim JSON Type", "The type of the claim", Kind.CHOICE),
    options=_JSON_TYPES,
)
TYPED_CLAIM: Final = (CLAIM_PATH, CLAIM_TYPE)
SEVERAL_VALUES: Final = Property("multivalued", "Multivalued", "Whether it is a list", Kind.FLAG)


@dataclass(frozen=True, slots=True)
class MapperType:
    """A type: its name for people, where it stands among others, and its own settings."""

    name: str
    help: str
    properties: tuple[Property, ...] = ()
    priority: int = 0


def render_mapper_type(
    mapper_type: str, known: MapperType, purposes: Iterable[str]
) -> dict[str, Any]:
    """Return the JSON object of a type whose claims may serve those purposes."""
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
