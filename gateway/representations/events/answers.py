"""Events and their configuration as the admin API answers them.

Keycloak: EventRepresentation, AdminEventRepresentation, RealmEventsConfigRepresentation
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.events import SAVED_BY_DEFAULT, AdminEvent, UserEvent
from gateway.domain.realm import EventsConfig
from gateway.representations.field_table import FieldTable, Setting, empty
from gateway.representations.instants import Milliseconds
from gateway.representations.refusals import raise_all
from gateway.representations.shapes import Duration, Flag, Shape, TextList

_INSTANT: Final = Milliseconds()


def _own(name: str, attribute: str, shape: Shape) -> Setting:
    return Setting(name, None, attribute, shape)


_CONFIG: Final = FieldTable(
    (
        _own("eventsEnabled", "enabled", Flag()),
        Setting("eventsExpiration", None, "expiration", Duration(), empty),
        _own("eventsListeners", "listeners", TextList()),
        _own("enabledEventTypes", "enabled_types", TextList()),
        _own("adminEventsEnabled", "admin_enabled", Flag()),
        _own("adminEventsDetailsEnabled", "admin_details_enabled", Flag()),
    )
)


def write_user_event(event: UserEvent) -> dict[str, Any]:
    """Return the JSON object, without what is not known."""
    return _known(
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


def write_admin_event(event: AdminEvent) -> dict[str, Any]:
    """Return the JSON object, without what is not known."""
    auth = event.auth
    return _known(
        {
            "id": event.id,
            "time": _INSTANT.write(event.time),
            "realmId": event.realm_id,
            "authDetails": _known(
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


def write_events_config(config: EventsConfig) -> dict[str, Any]:
    """Return the JSON object; where the realm names no types, it lists those that are meant."""
    meant = replace(config, enabled_types=config.enabled_types or SAVED_BY_DEFAULT)
    return _CONFIG.answer(meant, {})


def update_events_config(document: Mapping[str, Any], before: EventsConfig) -> EventsConfig:
    """Return what an update by `document` leaves.

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


def _known(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
