"""The level of authentication that a sign-in has to reach.

The client requires one, or the action that it asks for does: a credential of the second level is
set up or deleted only by a user who has proven one of that level. Keycloak: AcrStore (26.7)
"""

from collections.abc import Mapping

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.levels import NO_LEVEL, credential_levels
from gateway.authentication.engine.sign_in import SignIn
from gateway.domain.flows import CREDENTIAL_OF_ACTION, DELETE_CREDENTIAL


async def requested_level(sign_in: SignIn, accounts: Accounts) -> int:
    """Return the higher level of the two, NO_LEVEL without any; raises StoreUnavailable."""
    requested = sign_in.context.requested
    level = NO_LEVEL if requested.level is None else requested.level
    if requested.action is None or sign_in.found_user is None:
        return level
    levels = credential_levels(sign_in.flow)
    if max(levels.values(), default=NO_LEVEL) <= level or sign_in.account is None:
        return level
    account = sign_in.account = await accounts.with_credentials(sign_in.account)
    kind = _credential_type(sign_in, account)
    return level if kind is None else max(level, _reachable(account, levels, kind))


def _credential_type(sign_in: SignIn, account: Account) -> str | None:
    """Return the type of the credential that the action is about."""
    requested = sign_in.context.requested
    if requested.action != DELETE_CREDENTIAL:
        return CREDENTIAL_OF_ACTION.get(requested.action or "")
    held = account.credentials or ()
    return next((one.type for one in held if one.id == requested.action_parameter), None)


def _reachable(account: Account, levels: Mapping[str, int], kind: str) -> int:
    """Return the level of a type, or the highest below it that the user's credentials reach."""
    level = levels.get(kind, NO_LEVEL)
    while level > NO_LEVEL:
        kinds = {each for each, of in levels.items() if of == level}
        if not kinds or any(one.type in kinds for one in account.credentials or ()):
            return level
        level -= 1
    return level
