"""Small representations of which every field is known: any other is refused by its name.

Keycloak: its strict decoders
"""

from collections.abc import Mapping
from typing import Any

from gateway.domain.errors import FieldError
from gateway.representations.refusals import UnknownField, attempt, raise_all
from gateway.representations.shapes import Shape


def read_strictly(
    document: Mapping[str, Any], fields: Mapping[str, Shape], representation: str
) -> dict[str, Any]:
    """Return what was sent by name; null is not sent. Raises InvalidInput."""
    for name in document:
        if name not in fields:
            raise UnknownField("", name, representation)
    errors: list[FieldError] = []
    values: dict[str, Any] = {
        name: attempt(errors, None, shape.read, document[name], name)
        for name, shape in fields.items()
        if document.get(name) is not None
    }
    raise_all(errors)
    return values
