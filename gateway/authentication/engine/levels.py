"""Levels of authentication: which a browser's session has reached, and for how long each lasts.

The levels with their instants are a note of the user session, such as `{"1":1700000000}`.
Keycloak: AcrStore, LoAUtil (26.7)
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from gateway.domain.flows import KIND_OF, LEVEL, SignInFlow

LEVELS_NOTE: Final = "loa-map"
"""The note of a user session and of an authentication session."""
REAUTHENTICATING: Final = "reauthenticating"
"""The note of an authentication session in which the levels of earlier ones do not count."""
NO_LEVEL: Final = -1
LOWEST_LEVEL: Final = 0
_LEVEL_SETTING: Final = "loa-condition-level"
_MAX_AGE_SETTING: Final = "loa-max-age"
_STANDARD_MAX_AGE: Final = timedelta(seconds=36000)
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)
Levels = Mapping[int, datetime]


def parse_levels(note: str | None) -> Levels:
    """Return the levels of a note; none of one that cannot be read."""
    try:
        found = json.loads(note or "{}")
        return {int(level): datetime.fromtimestamp(at, UTC) for level, at in found.items()}
    except (ValueError, TypeError, AttributeError, OverflowError, OSError):
        return {}


def render_levels(levels: Levels) -> str:
    """Return the note."""
    seconds = {str(level): int(at.timestamp()) for level, at in sorted(levels.items())}
    return json.dumps(seconds, separators=(",", ":"))


def level_in(config: Mapping[str, str]) -> int | None:
    """Return the level of a condition; None where none is set."""
    text = config.get(_LEVEL_SETTING, "")
    return int(text) if _NUMBER.fullmatch(text) else None


def max_age_in(config: Mapping[str, str]) -> timedelta:
    """Return for how long the level of a condition lasts."""
    text = config.get(_MAX_AGE_SETTING, "")
    return timedelta(seconds=int(text)) if _NUMBER.fullmatch(text) else _STANDARD_MAX_AGE


def is_reached(levels: Levels, level: int, max_age: timedelta, now: datetime) -> bool:
    """Tell whether a level was reached and still lasts, in whole seconds."""
    at = levels.get(level)
    return at is not None and now.replace(microsecond=0) <= at + max_age


def highest_level(flow: SignInFlow, levels: Levels, now: datetime) -> int:
    """Return the highest level that lasts, with all levels below it; NO_LEVEL where none is."""
    if not levels:
        return NO_LEVEL
    ages = {
        level_in(step.config): max_age_in(step.config)
        for step in flow.every_step()
        if step.authenticator == LEVEL
    }
    highest = LOWEST_LEVEL
    for level in sorted(levels):
        if not is_reached(levels, level, ages.get(level, timedelta()), now):
            break
        highest = level
    return highest


def credential_levels(flow: SignInFlow, level: int = NO_LEVEL) -> dict[str, int]:
    """Return the level at which a flow asks for each type of credential.

    It is NO_LEVEL for an execution outside of the levels. Of several places the last one counts.
    Keycloak: LoAUtil.getCredentialTypesToLoAMap
    """
    own = (level_in(step.config) for step in flow.conditions if step.authenticator == LEVEL)
    level = next((found for found in own if found is not None), level)
    levels: dict[str, int] = {}
    for step in flow.steps:
        kind = KIND_OF.get(step.authenticator)
        if step.flow is not None:
            levels |= credential_levels(step.flow, level)
        elif kind is not None and kind.credential is not None:
            levels[kind.credential] = level
    return levels
