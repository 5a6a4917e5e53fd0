"""`jboss-logging`: each event as a line of the log, a failure as a warning.

Keycloak: 10.6; its lines are texts, these have the same members as fields
"""

import logging
from typing import Final

from gateway.domain.events import UserEvent
from gateway.domain.realm import Realm
from gateway.listeners.listener import ListenerOptions

NAME: Final = "jboss-logging"


class JbossLogging:
    """Writes to the gateway's log, successes at the level debug."""

    def __init__(self, options: ListenerOptions) -> None:
        self._log = options.log
        self._takes_failures = options.log.is_enabled_for(logging.WARNING)
        self._takes_successes = options.log.is_enabled_for(logging.DEBUG)

    def wants(self, _realm: Realm, _name: str, *, failed: bool) -> bool:
        return self._takes_failures if failed else self._takes_successes

    def on_event(self, _realm: Realm, event: UserEvent) -> None:
        write = self._log.debug if event.error is None else self._log.warning
        write("event", **{name: value for name, value in _fields(event).items() if value})


def _fields(event: UserEvent) -> dict[str, object]:
    return {
        "type": event.name,
        "realm_id": event.realm_id,
        "client": event.client_id,
        "user": event.user_id,
        "session": event.session_id,
        "remote_address": event.ip_address,
        "error": event.error,
        "details": dict(event.details),
    }
