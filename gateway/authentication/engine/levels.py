"""Levels of authentication: reached by sessions and flows, and required by clients and actions.

The levels of a browser's session with their instants are a note of the user session, such as
`{"1":1700000000}`.
Keycloak: AcrStore, LoAUtil (26.7)
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.sign_in import SignInAttempt
from gateway.domain.flows import CREDENTIAL_OF_ACTION, DELETE_CREDENTIAL, KIND_OF, LEVEL, SignInFlow
from gateway.domain.users import PASSWORD

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
    """Return the levels of a note; an unreadable note has none."""
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


FLOW_LEVELS_NOTE: Final = "flow-levels"
"""The note of a user session and of an authentication session."""


def earlier_flow_level(sign_in: SignInAttempt, notes: Mapping[str, str]) -> int:
    """Return the level that a session with these notes has reached by the same flow.

    NO_LEVEL where it has not, or where the flow has no level now.
    """
    if sign_in.context.requested.flow_level is None:
        return NO_LEVEL
    reached = _parsed_flow_levels(notes.get(FLOW_LEVELS_NOTE)).get(sign_in.flow.id)
    level = reached.get(sign_in.flow.version) if isinstance(reached, dict) else None
    return level if isinstance(level, int) else NO_LEVEL


def reach_flow_level(sign_in: SignInAttempt, level: int) -> None:
    """Take the level of a flow as reached, which the user has completed with credentials.

    A client policy gives a flow its level (`auth-flow-loa`). The session notes it with the version
    of the flow, such as `{"<id of the flow>":{"<version>":2}}`, so that single sign-on goes on in
    the same flow, and nothing else counts for it. Keycloak notes nothing: the executor's level is
    reached by the cookie alone, or never, according to whether the client asks for a class.
    """
    if sign_in.has_joined:
        return
    sign_in.level = max(NO_LEVEL if sign_in.level is None else sign_in.level, level)
    levels = _parsed_flow_levels(sign_in.notes.get(FLOW_LEVELS_NOTE))
    levels[sign_in.flow.id] = {sign_in.flow.version: level}
    sign_in.note(FLOW_LEVELS_NOTE, json.dumps(levels, separators=(",", ":")))


def _parsed_flow_levels(note: str | None) -> dict[str, Any]:
    try:
        found = json.loads(note or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


_FlowLevels = Mapping[str, int]


async def requested_level(sign_in: SignInAttempt, accounts: Accounts) -> int:
    """Return the higher level of the two, NO_LEVEL without any; raises StoreUnavailable.

    The realm's level of an action counts where the credentials of this flow reach it.

    The client requires one, or the action that it asks for does: a credential of the second level
    is set up or deleted only by a user who has proven one of that level. The levels of the realm's
    browser flow count in the flow of every client. Keycloak: AcrStore (26.7), which asks the
    client's flow only
    """
    requested = sign_in.context.requested
    level = NO_LEVEL if requested.level is None else requested.level
    if requested.action is None or sign_in.found_user is None:
        return level
    own, of_realm = credential_levels(sign_in.flow), _levels_of_realm(sign_in)
    needed = max(level, await _level_of_action(sign_in, accounts, own))
    in_realm = await _level_of_action(sign_in, accounts, of_realm)
    is_asked_for = proven_level(sign_in) < in_realm <= _highest_of_flow(of_realm, own)
    return max(needed, in_realm) if is_asked_for else needed


async def may_set_up(sign_in: SignInAttempt, accounts: Accounts) -> bool:
    """Tell whether the user has proven enough for the credential that the client wants set up.

    A thief of the password must not add a second factor of his own. Raises StoreUnavailable.
    """
    if sign_in.context.requested.action not in CREDENTIAL_OF_ACTION:
        return True
    levels = _levels_of_realm(sign_in)
    return await _level_of_action(sign_in, accounts, levels) <= proven_level(sign_in)


def proven_level(sign_in: SignInAttempt) -> int:
    """Return the level of the realm's browser flow that the credentials of a sign-in reach.

    They were asked for now, by whatever flow, or in the session of the browser. Every sign-in
    reaches the level of the password where that is the lowest one.
    """
    browser, levels = sign_in.context.realm.sign_in.browser, _levels_of_realm(sign_in)
    reached = NO_LEVEL if sign_in.level is None else sign_in.level
    if browser is not None and REAUTHENTICATING not in sign_in.notes:
        earlier = parse_levels(sign_in.notes.get(LEVELS_NOTE))
        reached = max(reached, highest_level(browser, earlier, sign_in.now))
    reached = max(reached, _highest_of_flow(levels, (PASSWORD,)))
    return _highest_of_flow(levels, sign_in.used, reached)


def level_of_session(browser: SignInFlow | None, notes: Mapping[str, str]) -> int:
    """Return the highest level that a session with these notes has ever reached.

    `browser` is the browser flow of the realm. Every session reaches the level of the password
    where that is the lowest one.
    """
    own = parse_levels(notes.get(LEVELS_NOTE))
    of_flows = _parsed_flow_levels(notes.get(FLOW_LEVELS_NOTE)).values()
    versions = (level for one in of_flows if isinstance(one, dict) for level in one.values())
    reached = max((*own, *(each for each in versions if isinstance(each, int))), default=NO_LEVEL)
    return max(reached, _highest_of_flow(_levels_of_flow(browser), (PASSWORD,)))


def _levels_of_realm(sign_in: SignInAttempt) -> _FlowLevels:
    return _levels_of_flow(sign_in.context.realm.sign_in.browser)


def _levels_of_flow(browser: SignInFlow | None) -> _FlowLevels:
    return {} if browser is None else credential_levels(browser)


def _highest_of_flow(levels: _FlowLevels, kinds: Iterable[str], reached: int = NO_LEVEL) -> int:
    """Return the highest level that types of credentials reach, with all between."""
    proven = {levels.get(kind, NO_LEVEL) for kind in kinds}
    for level in sorted(levels.values()):
        if level > reached and level not in proven:
            break
        reached = max(reached, level)
    return reached


async def _level_of_action(sign_in: SignInAttempt, accounts: Accounts, levels: _FlowLevels) -> int:
    """Return the level that a flow requires for the action, NO_LEVEL without any."""
    if max(levels.values(), default=NO_LEVEL) <= NO_LEVEL or sign_in.account is None:
        return NO_LEVEL
    account = sign_in.account = await accounts.load_credentials(sign_in.account)
    kind = _credential_type(sign_in, account)
    return NO_LEVEL if kind is None else _reachable_levels(account, levels, kind)


def _credential_type(sign_in: SignInAttempt, account: Account) -> str | None:
    """Return the type of the credential that the action is about."""
    requested = sign_in.context.requested
    if requested.action != DELETE_CREDENTIAL:
        return CREDENTIAL_OF_ACTION.get(requested.action or "")
    held = account.credentials or ()
    return next((one.type for one in held if one.id == requested.action_parameter), None)


def _reachable_levels(account: Account, levels: _FlowLevels, kind: str) -> int:
    """Return the level of a type, or the highest below it that the user's credentials reach."""
    held = {levels.get(one.type, NO_LEVEL) for one in account.credentials or ()}
    highest = levels.get(kind, NO_LEVEL)
    of_user = (level for level in held if level <= highest)
    return max(of_user, default=NO_LEVEL)
