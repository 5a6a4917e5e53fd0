"""`conditional-sub-flow-executed`: an earlier sub-flow succeeded, or did not."""

from typing import ClassVar

from gateway.authentication.engine.sign_in import Config, SignIn, WithoutEffect
from gateway.domain.flows import SUB_FLOW_EXECUTED, SignInFlow


class SubFlowExecuted(WithoutEffect):
    """Matches where the sub-flow `flow_to_check` has the result `check_result`."""

    id: ClassVar = SUB_FLOW_EXECUTED

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether it has."""
        del flow
        succeeded = config.get("flow_to_check") in sign_in.completed
        return succeeded != (config.get("check_result") == "not-executed")
