"""Levels that whole flows reach, and which of them a browser's session has reached.

A client policy gives a flow its level (`auth-flow-loa`). The session notes it with the version of
the flow, such as `{"<id of the flow>":{"<version>":2}}`, so that single sign-on goes on in the same
flow, and nothing else counts for it. Keycloak notes nothing: the executor's level is reached by the
cookie alone, or never, according to whether the client asks for a class.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from gateway.authentication.engine.levels import NO_LEVEL
from gateway.authentication.engine.sign_in import SignIn

FLOW_LEVELS_NOTE: Final = "flow-levels"
"""The note of a user session and of an authentication session."""


def earlier_flow_level(sign_in: SignIn, notes: Mapping[str, str]) -> int:
    """Return the level that a session with these notes has reached by the same flow.

    NO_LEVEL where it has not, or where the flow has no level now.
    """
    if sign_in.context.requested.flow_level is None:
        return NO_LEVEL
    reached = _parsed(notes.get(FLOW_LEVELS_NOTE)).get(sign_in.flow.id)
    level = reached.get(sign_in.flow.version) if isinstance(reached, dict) else None
    return level if isinstance(level, int) else NO_LEVEL


def reach_flow_level(sign_in: SignIn) -> None:
    """Take the level of a flow as reached, which the user has completed with credentials."""
    level = sign_in.context.requested.flow_level
    if level is None or sign_in.has_joined:
        return
    sign_in.level = max(NO_LEVEL if sign_in.level is None else sign_in.level, level)
    levels = _parsed(sign_in.notes.get(FLOW_LEVELS_NOTE))
    levels[sign_in.flow.id] = {sign_in.flow.version: level}
    sign_in.note(FLOW_LEVELS_NOTE, json.dumps(levels, separators=(",", ":")))


def _parsed(note: str | None) -> dict[str, Any]:
    try:
        found = json.loads(note or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
