"""`protocolMappers` of a client. Keycloak: ProtocolMapperRepresentation.

A mapper without an id keeps the one it had under its name, so that a file may leave ids out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.representations.field_table import FieldTable, Setting
from gateway.representations.names import UrlName
from gateway.representations.refusals import attempt, describe, join, raise_all, refused
from gateway.representations.shapes import Flag, OneOf, Text, TextMap

_PROTOCOL = "openid-connect"
_TABLE = FieldTable(
    (
        Setting("id", None, "id", UrlName()),
        Setting("name", None, "name", Text(least=1, most=255)),
        Setting("protocolMapper", None, "mapper_type", Text(least=1, most=255)),
        Setting("config", None, "config", TextMap()),
    ),
    beside=("protocol", "consentRequired"),
)
_KNOWN = "a field of a protocol mapper"
_MOST = 200


class ProtocolMappers:
    """The shape of the field."""

    def read(self, value: Any, path: str) -> tuple[ProtocolMapper, ...]:
        """Return the mappers; one without an id has an empty one until `with_ids`."""
        if not isinstance(value, list) or len(value) > _MOST:
            raise refused(path, value, f"a list of at most {_MOST} protocol mappers")
        errors: list[FieldError] = []
        nothing = ProtocolMapper("", "", "", {})
        mappers = tuple(
            attempt(errors, nothing, _read, item, f"{path}[{index}]")
            for index, item in enumerate(value)
        )
        names = [mapper.name for mapper in mappers if mapper.name]
        errors.extend(
            FieldError(path, f"{describe(name)} more than once", "names that differ")
            for name in sorted({name for name in names if names.count(name) > 1})
        )
        raise_all(errors)
        return mappers

    def write(self, value: tuple[ProtocolMapper, ...]) -> list[dict[str, Any]]:
        """Return the list."""
        return [
            {
                "id": mapper.id,
                "name": mapper.name,
                "protocol": _PROTOCOL,
                "protocolMapper": mapper.mapper_type,
                "consentRequired": False,
                "config": dict(mapper.config),
            }
            for mapper in value
        ]


def with_ids(
    mappers: Iterable[ProtocolMapper], before: Iterable[ProtocolMapper]
) -> tuple[ProtocolMapper, ...]:
    """Return the mappers with ids: their own, or the earlier one of the name, or a new one."""
    known: Mapping[str, str] = {mapper.name: mapper.id for mapper in before}
    return tuple(
        replace(mapper, id=mapper.id or known.get(mapper.name) or str(uuid4()))
        for mapper in mappers
    )


def _read(value: Any, path: str) -> ProtocolMapper:
    if not isinstance(value, dict):
        raise refused(path, value, "an object")
    errors: list[FieldError] = []
    given = _TABLE.collect(value, path, errors)
    updates = _TABLE.read_settings(given, errors)
    errors.extend(
        FieldError(join(path, name), "an unknown field", _KNOWN)
        for name in _TABLE.read_kept(given, {}, errors)
    )
    for name, shape in (("protocol", OneOf((_PROTOCOL,))), ("consentRequired", Flag())):
        if name in given:
            at, item = given[name]
            attempt(errors, None, shape.read, item, at)
    errors.extend(
        FieldError(join(path, name), "nothing", "text")
        for name in ("name", "protocolMapper")
        if name not in given
    )
    raise_all(errors)
    return _TABLE.updated(ProtocolMapper("", "", "", {}), updates)
