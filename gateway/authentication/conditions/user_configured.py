"""`conditional-user-configured`: the user has set up what the flow asks for."""

from collections.abc import Callable
from typing import ClassVar

from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.sign_in import (
    Authenticator,
    Config,
    SignIn,
    WithoutEffect,
)
from gateway.domain.flows import USER_CONFIGURED, Requirement, SignInFlow


class UserConfigured(WithoutEffect):
    """Matches where all required authenticators of the flow, or any alternative, are set up."""

    id: ClassVar = USER_CONFIGURED

    def __init__(self, accounts: Accounts, find: Callable[[str], Authenticator]) -> None:
        """`find` returns the authenticator with an id."""
        self._accounts = accounts
        self._find = find

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether they are; sub-flows do not count."""
        del config
        if sign_in.account is None or sign_in.account.user is None:
            return False
        account = sign_in.account = await self._accounts.with_credentials(sign_in.account)
        steps = [step for step in flow.steps if step.flow is None]
        found = [self._find(step.authenticator).is_configured(account) for step in steps]
        if any(step.requirement is Requirement.ALTERNATIVE for step in steps):
            return any(found)
        return all(found)
