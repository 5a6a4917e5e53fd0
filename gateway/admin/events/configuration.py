"""The event settings of a realm. Keycloak: 10.5 (events/config)."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    WireFamily,
)
from gateway.admin.changes import Changes
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.realm import EventsConfig
from gateway.representations.events import render_events_config, update_events_config

_PATH: Final = "events/config"
_UNAVAILABLE: Final = {"file": "The event listener file needs the setting REALMGATE_EVENTS_FILE"}


class EventConfiguration:
    """The use case; `listeners` are the names that a realm may add."""

    def __init__(self, changes: Changes, listeners: Collection[str]) -> None:
        self._changes = changes
        self._listeners = listeners

    async def update(self, acting: Acting, document: Mapping[str, Any]) -> None:
        """Change it; raises UnknownField, InvalidInput, InvalidRequest and PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            before = change.realm
            change.require_match(render_events_config, before.events)
            config = update_events_config(document, before.events)
            require_known_listeners(config, before.events, self._listeners)
            realm = replace(before, events=config)
            await change.replace_realm(realm)
            change.invalidate(realm_topic(realm.id))
            change.record(OperationType.UPDATE, ResourceType.REALM, _PATH, document)


def require_known_listeners(
    config: EventsConfig, before: EventsConfig, known: Collection[str]
) -> None:
    """Raise InvalidRequest for a listener that is neither `known` nor already the realm's."""
    for name in config.listeners:
        if name not in known and name not in before.listeners:
            raise InvalidRequest(_UNAVAILABLE.get(name, "Unknown event listener"), WireFamily.PROSE)
