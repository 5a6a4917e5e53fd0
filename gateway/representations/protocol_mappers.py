"""`protocolMappers` of clients and client scopes. Keycloak: ProtocolMapperRepresentation.

A mapper without an id keeps the id of the mapper with its name, so that a file may omit ids. The
types of mappers are not checked here: those without effect are stored as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.representations.field_table import FieldTable, Setting, parse_fields
from gateway.representations.names import Identity
from gateway.representations.refusals import (
    attempt,
    describe,
    join,
    mistyped,
    raise_all,
    refused_items,
    repeated,
)
from gateway.representations.shapes import Flag, Shape, Text, TextMap


class MapperConfig(TextMap):
    """The shape of `config`: texts, without empty ones."""

    def read(self, value: Any, path: str) -> dict[str, str]:
        return {name: text for name, text in TextMap.read(self, value, path).items() if text}


MAPPER_TABLE = FieldTable(
    (
        Setting("id", "id", Identity(), public=True),
        Setting("name", "name", Text(most=255), public=True),
        Setting("protocol", "protocol", Text(most=255)),
        Setting("protocolMapper", "mapper_type", Text(least=1, most=255), public=True),
        Setting("config", "config", MapperConfig()),
    ),
    ignored={"consentRequired": Flag(), "consentText": Text()},
)
_SAME_SUBJECT: Final = "a mapper that client scopes may have: subjects differ by client"
_TYPES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("id", "name", "protocol", "protocolMapper"), Text()),
    "config": TextMap(),
}
_KNOWN = "a field of a protocol mapper"
_OF_ACCESS_TOKENS: Final = frozenset(
    {"oidc-allowed-origins-mapper", "oidc-audience-resolve-mapper"}
)
_ACCESS_TOKEN: Final = "access.token.claim"  # noqa: S105 - an option
_ID_TOKEN: Final = "id.token.claim"  # noqa: S105 - an option
_USERINFO: Final = "userinfo.token.claim"
_INTROSPECTION: Final = "introspection.token.claim"
PAIRWISE_MAPPER: Final = "oidc-sha256-pairwise-sub-mapper"
MOST_MAPPERS: Final = 200
"""Of one client or client scope."""
_REPRESENTATION: Final = "ProtocolMapperRepresentation"
_NONE: Final = ProtocolMapper("", "", "", {})


@dataclass(frozen=True, slots=True)
class ProtocolMappers:
    """The shape of the field, of a client or of a client scope."""

    of_scope: bool = False

    def read(self, value: Any, path: str) -> tuple[ProtocolMapper, ...]:
        """Return the mappers; one without an id has an empty one until `with_ids`."""
        if not isinstance(value, list) or len(value) > MOST_MAPPERS:
            allowed = f"a list of at most {MOST_MAPPERS} protocol mappers"
            raise refused_items(path, value, list, allowed)
        errors: list[FieldError] = []
        mappers = tuple(
            attempt(errors, _NONE, self._mapper, item, f"{path}[{index}]")
            for index, item in enumerate(value)
        )
        names = ((mapper.protocol, mapper.name) for mapper in mappers if mapper.name)
        errors.extend(
            FieldError(path, f"{describe(name)} more than once", "names that differ")
            for _, name in sorted(repeated(names))
        )
        raise_all(errors)
        return mappers

    def _mapper(self, value: Any, path: str) -> ProtocolMapper:
        return parse_mapper(value, path, of_scope=self.of_scope)

    def write(self, value: tuple[ProtocolMapper, ...]) -> list[dict[str, Any]]:
        return [render_mapper(mapper) for mapper in value]


def render_mapper(mapper: ProtocolMapper) -> dict[str, Any]:
    """Return the JSON object of one mapper."""
    return {
        "id": mapper.id,
        "name": mapper.name,
        "protocol": mapper.protocol,
        "protocolMapper": mapper.mapper_type,
        "consentRequired": False,
        "config": dict(mapper.config),
    }


def restore_mappers(value: Iterable[Mapping[str, Any]]) -> tuple[ProtocolMapper, ...]:
    """Return the mappers of a document in storage, unjudged."""
    return tuple(
        ProtocolMapper(
            item["id"], item["name"], item["protocolMapper"], item["config"], item["protocol"]
        )
        for item in value
    )


def with_ids(
    mappers: Iterable[ProtocolMapper], before: Iterable[ProtocolMapper]
) -> tuple[ProtocolMapper, ...]:
    """Return the mappers with ids: their own, or the earlier one of the name, or a new one."""
    known = {(mapper.protocol, mapper.name): mapper.id for mapper in before}
    return tuple(
        replace(mapper, id=mapper.id or known.get((mapper.protocol, mapper.name)) or str(uuid4()))
        for mapper in mappers
    )


def with_userinfo_option(mapper: ProtocolMapper) -> ProtocolMapper:
    """Return a mapper of a new client or client scope: userinfo has what ID tokens have.

    Keycloak: 7.3
    """
    return _with_options(mapper, {_USERINFO: mapper.config.get(_ID_TOKEN)})


def with_all_options(mapper: ProtocolMapper) -> ProtocolMapper:
    """Return a mapper as it is shown by itself, with each option where its claims go.

    Keycloak: 7.3
    """
    if mapper.mapper_type in _OF_ACCESS_TOKENS:
        return _with_options(mapper, dict.fromkeys((_ACCESS_TOKEN, _INTROSPECTION), "true"))
    mapper = with_userinfo_option(mapper)
    return _with_options(mapper, {_INTROSPECTION: mapper.config.get(_ACCESS_TOKEN)})


def _with_options(mapper: ProtocolMapper, options: Mapping[str, str | None]) -> ProtocolMapper:
    added = {name: text for name, text in options.items() if text and name not in mapper.config}
    return replace(mapper, config={**mapper.config, **added}) if added else mapper


def require_mapper_fields(document: Mapping[str, Any], path: str = "") -> None:
    """Raise UnknownField or InvalidInput for what Keycloak's representation does not hold."""
    MAPPER_TABLE.require_known(document, _REPRESENTATION, path)
    errors: list[FieldError] = []
    parse_fields(document, _TYPES, path, errors)
    raise_all(errors)


def parse_mapper(value: Any, path: str, *, of_scope: bool) -> ProtocolMapper:
    """Return one mapper, its id empty where none was given; raises InvalidInput."""
    if not isinstance(value, dict):
        raise mistyped(path, value, "an object")
    errors: list[FieldError] = []
    given = MAPPER_TABLE.collect(value, path, errors)
    updates = MAPPER_TABLE.read_settings(given, errors)
    errors.extend(
        FieldError(join(path, name), "an unknown field", _KNOWN)
        for name in MAPPER_TABLE.read_kept(given, {}, errors)
    )
    errors.extend(
        FieldError(join(path, name), "nothing", "text")
        for name in ("name", "protocolMapper")
        if name not in given
    )
    if of_scope and updates.get("protocolMapper") == PAIRWISE_MAPPER:
        # Clients alone decide about subjects. If it were ignored, they would receive the one that
        # it must hide.
        errors.append(
            FieldError(join(path, "protocolMapper"), describe(PAIRWISE_MAPPER), _SAME_SUBJECT)
        )
    raise_all(errors)
    return MAPPER_TABLE.updated(_NONE, updates)
