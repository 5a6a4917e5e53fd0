"""Runs the steps of a flow after the user was identified.

All required steps must succeed; a conditional sub-flow is skipped unless all its conditions match.
Of alternatives the first that succeeds is enough; one that the user has not set up is skipped.
A flow in which nothing succeeds fails. Keycloak: 15
"""

from collections.abc import Iterable, Mapping

from gateway.authentication.direct_grant.sign_in import Authenticator, Condition, SignIn
from gateway.authentication.errors import AccountNotSetUp, InvalidUserCredentials
from gateway.domain.events import EventError
from gateway.domain.flows import FlowStep, Requirement, SignInFlow


class FlowRunner:
    """Runs flows with the authenticators and conditions that act."""

    def __init__(
        self, authenticators: Mapping[str, Authenticator], conditions: Mapping[str, Condition]
    ) -> None:
        self._authenticators = authenticators
        self._conditions = conditions

    @property
    def steps(self) -> Mapping[str, Authenticator | Condition]:
        """What a flow may consist of after the user was identified, by Keycloak's id."""
        return {**self._authenticators, **self._conditions}

    async def run(self, steps: Iterable[FlowStep], sign_in: SignIn) -> None:
        """Return if all steps that are not skipped succeed.

        Raises SignInRefused or StoreUnavailable.
        """
        if await self._run_required(steps, sign_in) is None:
            raise InvalidUserCredentials(EventError.INVALID_USER_CREDENTIALS, sign_in.user.id)

    async def _run_required(self, steps: Iterable[FlowStep], sign_in: SignIn) -> int | None:
        """Return the number of steps that were run and not skipped; None if one failed."""
        count = 0
        for step in steps:
            if await self._is_skipped(step, sign_in):
                continue
            if not await self._take(step, sign_in):
                return None
            count += 1
        return count

    async def _run_flow(self, flow: SignInFlow, sign_in: SignIn) -> bool:
        if flow.steps and flow.steps[0].requirement is Requirement.ALTERNATIVE:
            return await self._run_alternatives(flow.steps, sign_in)
        return bool(await self._run_required(flow.steps, sign_in))

    async def _run_alternatives(self, steps: Iterable[FlowStep], sign_in: SignIn) -> bool:
        for step in steps:
            try:
                if await self._take(step, sign_in):
                    return True
            except AccountNotSetUp:
                continue
        return False

    async def _take(self, step: FlowStep, sign_in: SignIn) -> bool:
        if step.flow is None:
            await self._authenticators[step.authenticator].authenticate(sign_in, step.config)
            return True
        succeeded = await self._run_flow(step.flow, sign_in)
        if succeeded:
            sign_in.completed.add(step.flow.alias)
        return succeeded

    async def _is_skipped(self, step: FlowStep, sign_in: SignIn) -> bool:
        flow = step.flow
        if flow is None or step.requirement is not Requirement.CONDITIONAL:
            return False
        for each in flow.conditions:
            condition = self._conditions[each.authenticator]
            if not await condition.matches(sign_in, each.config, flow):
                return True
        return not flow.conditions
