"""Client scopes and protocol mappers: Keycloak's JSON, or its snake_case, to values and back.

A partial document keeps what it leaves out, and of `attributes` each entry that it does not name;
an entry that is null goes. A mapper without an id keeps the id of the mapper with its name, so that
a file may omit ids. The types of mappers are not checked here: those without effect are stored as
well; the options of a type that say where a claim goes come from the mapper itself.
Keycloak: ClientScopeRepresentation, ProtocolMapperRepresentation, ProtocolMapperTypeRepresentation.
Spec: RFC 6749 §3.3 (names)
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import OPENID_CONNECT, ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.domain.random_values import uuid4
from gateway.domain.tables import build_value, read_table
from gateway.representations.components import Property, SettingKind
from gateway.representations.field_table import FieldTable, Given, Setting, parse_fields
from gateway.representations.refusals import (
    attempt,
    describe,
    join,
    mistyped,
    raise_all,
    refused_items,
    refused_text,
    repeated,
)
from gateway.representations.refused_settings import ineffective_of_scope
from gateway.representations.shapes import (
    Flag,
    ObjectId,
    OneOf,
    Shape,
    Text,
    TextMap,
    Verbatim,
    text_of_scalar,
)


class MapperConfig(TextMap):
    """The shape of `config`: texts, without empty ones."""

    def read(self, value: Any, path: str) -> dict[str, str]:
        return {name: text for name, text in TextMap.read(self, value, path).items() if text}


MAPPER_TABLE = FieldTable(
    (
        Setting("id", "id", ObjectId(), public=True),
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

    Keycloak: 7.3 clients
    """
    return _with_options(mapper, {_USERINFO: mapper.config.get(_ID_TOKEN)})


def with_options_of_file(
    mappers: Iterable[ProtocolMapper], before: Iterable[ProtocolMapper]
) -> tuple[ProtocolMapper, ...]:
    """Return the mappers of a file for a client or scope that exists, as a new one has them.

    A mapper that is stored without the option of userinfo stays without it.
    """
    without = {(each.protocol, each.name) for each in before if _USERINFO not in each.config}
    return tuple(
        mapper if (mapper.protocol, mapper.name) in without else with_userinfo_option(mapper)
        for mapper in mappers
    )


def with_all_options(mapper: ProtocolMapper) -> ProtocolMapper:
    """Return a mapper as it is shown by itself, with each option where its claims go.

    Keycloak: 7.3 clients
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
        # Clients alone decide about subjects. If the mapper were ignored, they would receive the
        # subject that it must hide.
        errors.append(
            FieldError(join(path, "protocolMapper"), describe(PAIRWISE_MAPPER), _SAME_SUBJECT)
        )
    raise_all(errors)
    return MAPPER_TABLE.updated(_NONE, updates)


SECTOR_URI: Final = "sectorIdentifierUri"


@dataclass(frozen=True, slots=True)
class MapperType:
    """A type: its name for people, its place among others, and its own settings."""

    name: str
    help: str
    properties: tuple[Property, ...] = ()
    priority: int = 0


MAPPER_DESCRIPTIONS: Final[Mapping[str, MapperType]] = build_value(
    Mapping[str, MapperType], read_table("gateway.representations", "mapper_types.toml")
)
"""By id."""


def render_mapper_type(mapper_type: str, purposes: Iterable[str]) -> dict[str, Any]:
    """Return the JSON object of a type whose claims may serve those purposes."""
    known = MAPPER_DESCRIPTIONS[mapper_type]
    options = (
        Property(
            each, f"Add to {each.partition('.')[0]}", "Whether it goes there", SettingKind.FLAG
        )
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


SCOPE_PROTOCOLS: Final = (OPENID_CONNECT, "saml")
_NAME: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]{1,255}")


@dataclass(frozen=True, slots=True)
class ScopeName(Verbatim):
    """A name that may stand in the `scope` of a request."""

    def read(self, value: Any, path: str) -> str:
        if not is_scope_name(value := text_of_scalar(value)):
            allowed = "1 to 255 visible ASCII characters without quotes and backslashes"
            raise refused_text(path, value, allowed)
        return str(value)


def is_scope_name(value: object) -> bool:
    """Return whether a scope may have this name."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


CLIENT_SCOPE_TABLE: Final = FieldTable(
    (
        Setting("id", "id", ObjectId(), public=True),
        Setting("name", "name", ScopeName(), public=True),
        Setting("description", "description", Text(), public=True),
        Setting("protocol", "protocol", OneOf(SCOPE_PROTOCOLS)),
        Setting("attributes", "attributes", TextMap()),
        Setting("protocolMappers", "mappers", ProtocolMappers(of_scope=True), omit_empty=True),
    )
)


def parse_client_scope(
    document: Mapping[str, Any],
    realm_id: str,
    *,
    base: ClientScope | None = None,
    path: str = "",
    report_ineffective: bool = False,
) -> ClientScope:
    """Return the scope that `document` describes; fields that Keycloak has not are passed over.

    With `base`, what is absent or null stays as it is there, and the id always. Settings that
    would promise a protection without giving it are refused unless the caller reports them.
    Raises InvalidInput with every wrong field.
    """
    if not isinstance(document, Mapping):
        raise mistyped(path or "clientScope", document, "an object")
    errors: list[FieldError] = []
    given = CLIENT_SCOPE_TABLE.collect(document, path, errors)
    before = base or ClientScope(str(uuid4()), realm_id, "")
    updates = CLIENT_SCOPE_TABLE.read_settings(given, errors)
    if not before.name and "name" not in given:
        errors.append(FieldError(join(path, "name"), "nothing", "the name of the scope"))
    raise_all(errors)
    scope = CLIENT_SCOPE_TABLE.updated(before, updates)
    mappers = scope.mappers
    if base is None or report_ineffective:
        mappers = with_options_of_file(mappers, before.mappers)
    scope = replace(
        scope,
        id=before.id if base else scope.id,
        attributes=_merged(before.attributes, given),
        mappers=with_ids(mappers, before.mappers),
    )
    if not report_ineffective:
        raise_all(ineffective_of_scope(scope, base, path))
    return scope


def _merged(before: Mapping[str, str], given: Given) -> dict[str, str]:
    at, sent = given.get("attributes", ("", {}))
    removed = {name for name, text in sent.items() if text is None}
    kept = {name: text for name, text in before.items() if name not in removed}
    return kept | TextMap().read(sent, at)


def render_client_scope(scope: ClientScope) -> dict[str, Any]:
    """Return the JSON object of `scope`, in Keycloak's order."""
    return CLIENT_SCOPE_TABLE.answer(scope, {})


def changes_reach_of_clients(before: ClientScope, after: ClientScope) -> bool:
    """Return whether two states of a scope differ in more than texts and the order of a list.

    See `gateway/representations/clients/client.py`.
    """
    return _reach_document(before) != _reach_document(after)


def _reach_document(scope: ClientScope) -> dict[str, Any]:
    document = render_client_scope(scope)
    attributes = document.get("attributes", {})
    kept = {name: text for name, text in attributes.items() if name not in _HARMLESS_ATTRIBUTES}
    return {**document, "description": None, "attributes": kept}


_HARMLESS_ATTRIBUTES: Final = frozenset(
    {"consent.screen.text", "gui.order", "include.in.openid.provider.metadata"}
)


def render_reference(scope: ClientScope, *, protocol: bool = True) -> dict[str, Any]:
    """Return the few members by which lists name a scope."""
    named = {"id": scope.id, "name": scope.name}
    return {**named, "protocol": scope.protocol} if protocol else named
