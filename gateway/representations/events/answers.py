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
from gateway.representations.field_table import FieldTable, Setting, without_none
from gateway.representations.refusals import raise_all
from gateway.representations.shapes import Duration, Flag, Milliseconds, TextList

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
    """Return the JSON object, without what is not known."""
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
    """Return the JSON object, without what is not known."""
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
