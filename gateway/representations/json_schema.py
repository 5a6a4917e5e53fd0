"""JSON Schema of the representations of the API, derived from their field tables.

Spec: JSON Schema 2020-12 (https://json-schema.org/draft/2020-12)
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.representations.client_scopes import CLIENT_SCOPE_TABLE, MAPPER_TABLE
from gateway.representations.clients import CLIENT_FIELDS, ClientAttributesShape
from gateway.representations.field_table import FieldTable
from gateway.representations.realms import REALM_TABLE
from gateway.representations.shapes import (
    Choice,
    Count,
    Duration,
    Flag,
    OneOf,
    Shape,
    Text,
    TextList,
    TextMap,
    VerbatimList,
    VerbatimObject,
)
from gateway.representations.site_rules import RULE_FIELDS, BearerAudienceOrNone, Members, RuleList
from gateway.representations.users import USER_TABLE

Schema = dict[str, Any]

_TABLES: Final[Mapping[str, FieldTable]] = {
    "ClientRepresentation": CLIENT_FIELDS,
    "ClientScopeRepresentation": CLIENT_SCOPE_TABLE,
    "ProtocolMapperRepresentation": MAPPER_TABLE,
    "RealmRepresentation": REALM_TABLE,
    "UserRepresentation": USER_TABLE,
}


def schemas(names: set[str], declared: Mapping[str, FieldTable]) -> dict[str, Schema]:
    """Return the schemas of representations, also of `declared` ones.

    A representation without a table is any object.
    """
    tables = {**_TABLES, **declared}
    return {name: _of_table(tables.get(name)) for name in sorted(names)}


def _of_table(table: FieldTable | None) -> Schema:
    if table is None:
        return {"type": "object"}
    known = {name: _of_shape(shape) for name, shape in table.shapes.items()}
    return {"type": "object", "properties": known | {name: {} for name in table.beside}}


def _of_shape(shape: Shape) -> Schema:
    describe = _SCHEMAS.get(type(shape))
    return describe(shape) if describe else {}


def _number(shape: Count | Duration) -> Schema:
    return {"type": "integer", "minimum": shape.least, "maximum": shape.most}


def _text(shape: Text) -> Schema:
    return {"type": "string", "minLength": shape.least, "maxLength": shape.most}


def _members(shape: Members) -> Schema:
    # Their texts have rules of their own; a choice has words.
    item = _of_shape(shape.item) or {"type": "string"}
    return {"type": "array", "items": item, "minItems": 1, "maxItems": shape.most}


def _choice(shape: Choice[Any]) -> Schema:
    return {"type": "string", "enum": [each.value for each in shape.choices]}


def _map(_: Any) -> Schema:
    return {"type": "object", "additionalProperties": {"type": "string"}}


_SCHEMAS: Final[Mapping[type, Callable[[Any], Schema]]] = {
    Flag: lambda _: {"type": "boolean"},
    Count: _number,
    Duration: _number,
    OneOf: lambda shape: {"enum": list(shape.allowed)},
    Choice: _choice,
    BearerAudienceOrNone: _choice,
    Text: _text,
    TextList: lambda shape: {"type": "array", "items": _of_shape(shape.item)},
    TextMap: _map,
    ClientAttributesShape: _map,
    Members: _members,
    RuleList: lambda _: {"type": "array", "items": _of_table(RULE_FIELDS)},
    VerbatimList: lambda _: {"type": "array"},
    VerbatimObject: lambda _: {"type": "object"},
}
"""A field of another shape has no schema: its rule checks it."""
