"""Small representations, each a table of shapes by name: null is not sent.

Keycloak: its strict decoders
"""

from collections.abc import Mapping
from typing import Any

from gateway.domain.errors import FieldError
from gateway.representations.field_table import Given
from gateway.representations.refusals import attempt, join, raise_all, require_known
from gateway.representations.shapes import Shape


def read_fields(
    document: Mapping[str, Any], fields: Mapping[str, Shape], path: str, errors: list[FieldError]
) -> dict[str, Any]:
    """Return what was sent of `fields`, by name; other members are ignored."""
    return {
        name: attempt(errors, None, shape.read, document[name], join(path, name))
        for name, shape in fields.items()
        if document.get(name) is not None
    }


def read_given(
    given: Given, fields: Mapping[str, Shape], errors: list[FieldError]
) -> dict[str, Any]:
    """Return what was given of `fields`, by name."""
    return {
        name: attempt(errors, None, shape.read, given[name][1], given[name][0])
        for name, shape in fields.items()
        if name in given
    }


def read_strictly(
    document: Mapping[str, Any], fields: Mapping[str, Shape], representation: str
) -> dict[str, Any]:
    """Return what was sent by name; raises UnknownField and InvalidInput."""
    require_known(document, fields, representation)
    errors: list[FieldError] = []
    values = read_fields(document, fields, "", errors)
    raise_all(errors)
    return values
