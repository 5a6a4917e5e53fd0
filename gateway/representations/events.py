"""JSON of events, and the fields of a sent document that an admin event records.

The fields of realms, clients, users, client scopes and mappers are marked in their field tables.
Listed here are the members of free maps, such as attributes, and of documents without a table. A
field may be listed only if it never contains a secret, a password, a key or a certificate. Any
other field is left out; of free maps every name is recorded, and only listed ones with their value.
A listed value is recorded if it is plain, which no PEM, token or address with a password is.
Keycloak: EventRepresentation, AdminEventRepresentation, RealmEventsConfigRepresentation; the
representations of the admin API; 10.4 admin events, which masks what it knows as a secret and
records the rest, private keys among it
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.events import SAVED_BY_DEFAULT, AdminEvent, ResourceType, UserEvent
from gateway.domain.realm import EventsConfig
from gateway.domain.secrets import looks_secret
from gateway.domain.tables import read_table
from gateway.representations.client_scopes import CLIENT_SCOPE_TABLE, MAPPER_TABLE
from gateway.representations.clients import CLIENT_FIELDS
from gateway.representations.field_table import FieldTable, Setting, without_none
from gateway.representations.realms import REALM_TABLE
from gateway.representations.refusals import raise_all
from gateway.representations.shapes import MASK, Duration, Flag, Milliseconds, TextList
from gateway.representations.users import USER_TABLE

_INSTANT: Final = Milliseconds()


_CONFIG: Final = FieldTable(
    (
        Setting("eventsEnabled", "enabled", Flag()),
        Setting("eventsExpiration", "expiration", Duration(), omit_empty=True),
        Setting("eventsListeners", "listeners", TextList()),
        Setting("enabledEventTypes", "enabled_types", TextList()),
        Setting("adminEventsEnabled", "admin_enabled", Flag()),
        Setting("adminEventsDetailsEnabled", "admin_details_enabled", Flag()),
    )
)


def render_user_event(event: UserEvent) -> dict[str, Any]:
    """Return the JSON object, without unknown members."""
    return without_none(
        {
            "id": event.id,
            "time": _INSTANT.write(event.time),
            "type": event.name,
            "realmId": event.realm_id,
            "clientId": event.client_id,
            "userId": event.user_id,
            "sessionId": event.session_id,
            "ipAddress": event.ip_address,
            "error": event.error,
            "details": dict(event.details) or None,
        }
    )


def render_admin_event(event: AdminEvent) -> dict[str, Any]:
    """Return the JSON object, without unknown members."""
    auth = event.auth
    return without_none(
        {
            "id": event.id,
            "time": _INSTANT.write(event.time),
            "realmId": event.realm_id,
            "authDetails": without_none(
                {
                    "realmId": auth.realm_id,
                    "clientId": auth.client,
                    "userId": auth.user_id,
                    "ipAddress": auth.ip_address,
                }
            ),
            "operationType": event.operation,
            "resourceType": event.resource,
            "resourcePath": event.resource_path,
            "representation": event.representation,
            "details": dict(event.details) or None,
        }
    )


def render_events_config(config: EventsConfig) -> dict[str, Any]:
    """Return the JSON object; where the realm names no types, it lists the default ones."""
    complete = replace(config, enabled_types=config.enabled_types or SAVED_BY_DEFAULT)
    return _CONFIG.answer(complete, {})


def update_events_config(document: Mapping[str, Any], before: EventsConfig) -> EventsConfig:
    """Return the configuration after an update by `document`.

    The switch and the expiration are off where they are not given, the others stay as they are; a
    name that comes twice counts once. Raises UnknownField, and InvalidInput with every wrong field.
    Keycloak: PUT events/config, which replaces the first two and merges the rest
    """
    _CONFIG.require_known(document, "RealmEventsConfigRepresentation")
    errors: list[FieldError] = []
    given = _CONFIG.read_settings(_CONFIG.collect(document, "", errors), errors)
    raise_all(errors)
    base = replace(before, enabled=False, expiration=timedelta())
    config = _CONFIG.updated(base, given)
    return replace(
        config,
        listeners=tuple(dict.fromkeys(config.listeners)),
        enabled_types=tuple(dict.fromkeys(config.enabled_types)),
    )


LARGEST: Final = 64 * 1024
"""Characters of one representation."""

_NOTHING: Final = object()
_LONGEST_NAME: Final = 255
_UNFIT: Final = re.compile("[\0\ud800-\udfff]")
"""Characters that some databases cannot store."""


@dataclass(frozen=True, slots=True)
class Fields:
    """An object: `shown` with their value, `masked` as present, `inner` by their own fields."""

    shown: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    inner: Mapping[str, "Node"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Named:
    """A free map: every name is kept, and of `shown` the value."""

    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Lists:
    """A map from names to lists of names, such as the roles of clients."""


Node = Fields | Named | Lists


_TABLE: Final = read_table("gateway.representations", "recorded_fields.toml")
_FIELD_TABLES: Final[Mapping[str, FieldTable]] = {
    "mapper": MAPPER_TABLE,
    "client_scope": CLIENT_SCOPE_TABLE,
    "client": CLIENT_FIELDS,
    "user": USER_TABLE,
    "realm": REALM_TABLE,
}


def _build_node(row: Any) -> Node:
    if isinstance(row, str):
        return Lists() if row == "lists" else _build_node(_TABLE["nodes"][row.removeprefix("@")])
    if "names" in row:
        return Named(frozenset(row["names"]))
    table = _FIELD_TABLES[row["table"]].recorded if "table" in row else frozenset()
    inner = {name: _build_node(each) for name, each in row.get("inner", {}).items()}
    return Fields(frozenset(row.get("shown", ())) | table, frozenset(row.get("masked", ())), inner)


FIELDS: Final[Mapping[ResourceType, Node]] = {
    ResourceType(name): _build_node(row) for name, row in _TABLE["resources"].items()
}
"""Every kind of resource; a test checks that none is missing."""


def recorded(resource: ResourceType, document: object, fields: FieldTable | None = None) -> str:
    """Return the recorded part of `document` as JSON text: the recorded `fields`, where given."""
    node = FIELDS.get(resource, Fields()) if fields is None else Fields(fields.recorded)
    kept = _kept_by(node, document)
    text = _json({} if kept is _NOTHING else kept)
    if len(text) > LARGEST:
        return _json({"omitted": f"a representation of more than {LARGEST} characters"})
    return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _kept_by(node: Node, value: object) -> Any:
    """Return the part of a value that `node` records, of a list the parts of its items."""
    if isinstance(value, list):
        kept = (_kept_by(node, item) for item in value)
        return [item for item in kept if item is not _NOTHING]
    if not isinstance(value, Mapping):
        return _NOTHING
    members = ((name, _member(node, name, item)) for name, item in value.items() if _fits(name))
    return {name: item for name, item in members if item is not _NOTHING}


def _member(node: Node, name: str, value: object) -> Any:
    match node:
        case Fields() if name in node.inner:
            return _kept_by(node.inner[name], value)
        case Fields():
            return _plain(value) if name in node.shown else _masked(node, name, value)
        case Named():
            return _plain(value) if name in node.shown else MASK
        case Lists():
            return _plain(value) if isinstance(value, list) else _NOTHING


def _masked(node: Fields, name: str, value: object) -> Any:
    return MASK if name in node.masked and value is not None else _NOTHING


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return value if _is_plain(value) else MASK
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value if not isinstance(item, list | Mapping)]
    return _NOTHING


def _fits(name: object) -> bool:
    return isinstance(name, str) and len(name) <= _LONGEST_NAME and _is_plain(name)


def _is_plain(text: str) -> bool:
    return not looks_secret(text) and _UNFIT.search(text) is None
