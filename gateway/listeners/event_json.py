"""An event as other systems receive it: as the admin API answers it, and the name of its realm."""

import orjson

from gateway.domain.events import UserEvent
from gateway.representations.events import render_user_event


def event_json(realm_name: str, event: UserEvent) -> bytes:
    """Return the JSON text, without line breaks."""
    return orjson.dumps({**render_user_event(event), "realmName": realm_name})
