"""`conditional-user-configured`: the user has set up what the flow asks for."""

from collections.abc import Mapping
from typing import ClassVar

from gateway.authentication.direct_grant.sign_in import Authenticator, Config, SignIn
from gateway.domain.flows import USER_CONFIGURED, Requirement, SignInFlow


class UserConfigured:
    """Matches where all required authenticators of the flow, or any alternative, are set up."""

    id: ClassVar = USER_CONFIGURED

    def __init__(self, authenticators: Mapping[str, Authenticator]) -> None:
        self._authenticators = authenticators

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether they are; sub-flows do not count."""
        del config
        steps = [step for step in flow.steps if step.flow is None]
        found = [self._authenticators[step.authenticator].is_configured(sign_in) for step in steps]
        if any(step.requirement is Requirement.ALTERNATIVE for step in steps):
            return any(found)
        return all(found)
