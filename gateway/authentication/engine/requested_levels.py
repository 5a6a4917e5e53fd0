"""The level of authentication that a sign-in has to reach.

The client requires one, or the action that it asks for does: a credential of the second level is
set up or deleted only by a user who has proven one of that level. The levels of the realm's browser
flow count in the flow of every client. Keycloak: AcrStore (26.7), which asks the client's flow only
"""

from collections.abc import Iterable, Mapping

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.levels import (
    LEVELS_NOTE,
    NO_LEVEL,
    REAUTHENTICATING,
    credential_levels,
    highest_level,
    parse_levels,
)
from gateway.authentication.engine.sign_in import SignIn
from gateway.domain.flows import CREDENTIAL_OF_ACTION, DELETE_CREDENTIAL
from gateway.representations.users import PASSWORD

_Levels = Mapping[str, int]


async def requested_level(sign_in: SignIn, accounts: Accounts) -> int:
    """Return the higher level of the two, NO_LEVEL without any; raises StoreUnavailable.

    The realm's level of an action counts where the credentials of this flow reach it.
    """
    requested = sign_in.context.requested
    level = NO_LEVEL if requested.level is None else requested.level
    if requested.action is None or sign_in.found_user is None:
        return level
    own, of_realm = credential_levels(sign_in.flow), _levels_of_realm(sign_in)
    needed = max(level, await _level_of_action(sign_in, accounts, own))
    in_realm = await _level_of_action(sign_in, accounts, of_realm)
    is_asked_for = proven_level(sign_in) < in_realm <= _highest(of_realm, own)
    return max(needed, in_realm) if is_asked_for else needed


async def may_set_up(sign_in: SignIn, accounts: Accounts) -> bool:
    """Tell whether the user has proven enough for the credential that the client wants set up.

    A thief of the password must not add a second factor of his own. Raises StoreUnavailable.
    """
    if sign_in.context.requested.action not in CREDENTIAL_OF_ACTION:
        return True
    levels = _levels_of_realm(sign_in)
    return await _level_of_action(sign_in, accounts, levels) <= proven_level(sign_in)


def proven_level(sign_in: SignIn) -> int:
    """Return the level of the realm's browser flow that the credentials of a sign-in reach.

    They were asked for now, by whatever flow, or in the session of the browser. Every sign-in
    reaches the level of the password where that is the lowest one.
    """
    browser, levels = sign_in.context.realm.sign_in.browser, _levels_of_realm(sign_in)
    reached = NO_LEVEL if sign_in.level is None else sign_in.level
    if browser is not None and REAUTHENTICATING not in sign_in.notes:
        earlier = parse_levels(sign_in.notes.get(LEVELS_NOTE))
        reached = max(reached, highest_level(browser, earlier, sign_in.now))
    reached = max(reached, _highest(levels, (PASSWORD,)))
    return _highest(levels, sign_in.used, reached)


def _levels_of_realm(sign_in: SignIn) -> _Levels:
    browser = sign_in.context.realm.sign_in.browser
    return {} if browser is None else credential_levels(browser)


def _highest(levels: _Levels, kinds: Iterable[str], reached: int = NO_LEVEL) -> int:
    """Return the highest level that types of credentials reach, with all between."""
    proven = {levels.get(kind, NO_LEVEL) for kind in kinds}
    for level in sorted(levels.values()):
        if level > reached and level not in proven:
            break
        reached = max(reached, level)
    return reached


async def _level_of_action(sign_in: SignIn, accounts: Accounts, levels: _Levels) -> int:
    """Return the level that a flow requires for the action, NO_LEVEL without any."""
    if max(levels.values(), default=NO_LEVEL) <= NO_LEVEL or sign_in.account is None:
        return NO_LEVEL
    account = sign_in.account = await accounts.with_credentials(sign_in.account)
    kind = _credential_type(sign_in, account)
    return NO_LEVEL if kind is None else _reachable(account, levels, kind)


def _credential_type(sign_in: SignIn, account: Account) -> str | None:
    """Return the type of the credential that the action is about."""
    requested = sign_in.context.requested
    if requested.action != DELETE_CREDENTIAL:
        return CREDENTIAL_OF_ACTION.get(requested.action or "")
    held = account.credentials or ()
    return next((one.type for one in held if one.id == requested.action_parameter), None)


def _reachable(account: Account, levels: _Levels, kind: str) -> int:
    """Return the level of a type, or the highest below it that the user's credentials reach."""
    held = {levels.get(one.type, NO_LEVEL) for one in account.credentials or ()}
    highest = levels.get(kind, NO_LEVEL)
    of_user = (level for level in held if level <= highest)
    return max(of_user, default=NO_LEVEL)
