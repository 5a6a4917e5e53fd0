"""`conditional-level-of-authentication`: a level is required that is not reached yet.

Keycloak: ConditionalLoaAuthenticator (26.7)
"""

from typing import ClassVar

from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.levels import (
    LEVELS_NOTE,
    LOWEST_LEVEL,
    REAUTHENTICATING,
    is_reached,
    level_in,
    max_age_in,
    parse_levels,
    render_levels,
)
from gateway.authentication.engine.requested_levels import requested_level
from gateway.authentication.engine.sign_in import Config, SignIn
from gateway.domain.flows import LEVEL, SignInFlow


class LevelOfAuthentication:
    """Matches where the level `loa-condition-level` is required.

    It was reached before where that was not longer than `loa-max-age` seconds ago. The first level
    of a sign-in is always required.
    """

    id: ClassVar = LEVEL

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether the level is required and has to be reached now."""
        del flow
        current = sign_in.level
        if current is None or current < LOWEST_LEVEL:
            return True
        level = level_in(config) or LOWEST_LEVEL
        if await requested_level(sign_in, self._accounts) < level:
            return False
        if not _was_reached(sign_in, config, level):
            return True
        if current < level:
            sign_in.level = level
        return False

    def succeeded(self, sign_in: SignIn, config: Config) -> None:
        """Note that the level was reached; one that lasts no time counts in this sign-in only."""
        level = level_in(config)
        if level is None:
            return
        sign_in.level = level
        if max_age_in(config):
            levels = parse_levels(sign_in.notes.get(LEVELS_NOTE))
            sign_in.note(LEVELS_NOTE, render_levels({**levels, level: sign_in.now}))


def _was_reached(sign_in: SignIn, config: Config, level: int) -> bool:
    if REAUTHENTICATING in sign_in.notes:
        return False
    levels = parse_levels(sign_in.notes.get(LEVELS_NOTE))
    return is_reached(levels, level, max_age_in(config), sign_in.now)
