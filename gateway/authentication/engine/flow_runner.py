"""Runs the steps of a flow, and chooses between alternatives.

Keycloak: AuthenticationSelectionResolver
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.proofs import GuardedChecks
from gateway.authentication.engine.sign_in import (
    Authenticator,
    AuthenticatorOutcome,
    FlowCondition,
    Form,
    Result,
    SecretCheck,
    SignInAttempt,
)
from gateway.authentication.errors import (
    AccountDisabled,
    AccountNotSetUp,
    InvalidUserCredentials,
    NotIdentified,
)
from gateway.domain.authentication import Challenge, ExecutionStatus
from gateway.domain.flows import (
    KIND_OF,
    PASSKEY_FORM,
    PASSWORD_FORM,
    SECURITY_KEY_FORM,
    FlowStep,
    PasswordGrantPlace,
    Requirement,
    SignInFlow,
)

_KEY_FORMS: Final = frozenset({SECURITY_KEY_FORM, PASSKEY_FORM})
_ASKED_OF_NAMED: Final = _KEY_FORMS | {PASSWORD_FORM}
_DONE: Final = frozenset(
    {ExecutionStatus.SUCCESS, ExecutionStatus.ATTEMPTED, ExecutionStatus.SETUP_REQUIRED}
)
"""Of steps that were processed: they are not executed again."""


def is_asked_in_any_case(sign_in: SignInAttempt, step: FlowStep) -> bool:
    """Tell whether a step asks users without its credential too, so that it reveals none.

    In a flow that asks for keys it is so for passwords and keys, while the user is only named.
    """
    return step.authenticator in _ASKED_OF_NAMED and _conceals_credentials(sign_in)


def _conceals_credentials(sign_in: SignInAttempt) -> bool:
    steps = sign_in.flow.every_step()
    return sign_in.is_only_named and any(step.authenticator in _KEY_FORMS for step in steps)


def in_order_of_preference(
    steps: Sequence[FlowStep], sign_in: SignInAttempt
) -> tuple[FlowStep, ...]:
    """Return alternatives, the user's credentials first and in the user's order.

    In the order of the flow where the user's own would reveal keys of a user who is only named.

    Keycloak: AuthenticationSelectionResolver
    """
    account = None if _conceals_credentials(sign_in) else sign_in.account
    held = [] if account is None else [one.type for one in account.credentials or ()]

    def rank(step: FlowStep) -> int:
        kind = _credential_of_form(step)
        return held.index(kind) if kind in held else len(held)

    return tuple(sorted(steps, key=rank))


def other_ways(sign_in: SignInAttempt, path: Sequence[FlowStep]) -> tuple[FlowStep, ...]:
    """Return the executions that the user may take instead of the last one of `path`.

    They are the first executions of the alternatives that are left, each with a form for a
    credential that the user has set up or that is asked for in any case, or one that asks who the
    user is.
    """
    return tuple(
        leaf
        for leaf in _alternatives(sign_in.flow, path)
        if leaf.id != path[-1].id
        and sign_in.statuses.get(leaf.id) not in _DONE
        and _is_way_of(leaf, sign_in)
    )


def _is_way_of(leaf: FlowStep, sign_in: SignInAttempt) -> bool:
    account, kind = sign_in.account, KIND_OF.get(leaf.authenticator)
    if account is None:
        return kind is not None and kind.names_user
    if is_asked_in_any_case(sign_in, leaf):
        return True
    return _form_of(leaf) in {one.type for one in account.credentials or ()}


def _alternatives(flow: SignInFlow, path: Sequence[FlowStep]) -> Iterator[FlowStep]:
    """Yield the first executions of all alternatives of the highest flow that offers a choice.

    A step that others must precede offers none above it.
    """
    found: SignInFlow | None = None
    parents = [flow, *(step.flow for step in path[:-1] if step.flow is not None)]
    for parent, step in zip(reversed(parents), reversed(path), strict=True):
        if step.requirement is Requirement.ALTERNATIVE:
            found = parent
        elif parent.steps[0].id != step.id:
            break
    if found is not None:
        yield from _leaf_executions(found)


def _leaf_executions(flow: SignInFlow) -> Iterator[FlowStep]:
    """Yield the executions with which a flow can begin."""
    steps = flow.steps if flow.has_alternatives else flow.steps[:1]
    for step in steps:
        if step.flow is None:
            yield step
        elif step.requirement is not Requirement.CONDITIONAL:
            yield from _leaf_executions(step.flow)


def _credential_of_form(step: FlowStep) -> str | None:
    """Return the type of credential that an alternative begins with."""
    if step.flow is None:
        kind = KIND_OF.get(step.authenticator)
        return None if kind is None else kind.credential
    first = next(_leaf_executions(step.flow), None)
    return None if first is None else _credential_of_form(first)


def _form_of(step: FlowStep) -> str | None:
    """Return the type of credential that the form of an execution asks for."""
    kind = KIND_OF.get(step.authenticator)
    if kind is None or kind.direct_grant is not PasswordGrantPlace.NOWHERE:
        return None
    return kind.credential


def is_set_up_later(step: FlowStep) -> bool:
    """Tell whether a user without the credential of a step goes on, and sets it up at the end."""
    kind = KIND_OF.get(step.authenticator)
    required = step.requirement is Requirement.REQUIRED
    return required and kind is not None and kind.required_action is not None


_SET_UP_LATER: Final = ExecutionStatus.SETUP_REQUIRED
_SUCCESSFUL: Final = frozenset({ExecutionStatus.SUCCESS, _SET_UP_LATER})


class Progress(Enum):
    """How far a flow or a step has come."""

    SUCCEEDED = auto()
    FAILED = auto()
    WAITING = auto()
    """The user fills in a form: the challenge of the sign-in."""


@dataclass(frozen=True, slots=True)
class FlowSteps:
    """The authenticators and conditions of all realms, by Keycloak's id.

    `authenticators` has a substitute for every id of an authenticator that does not act.
    """

    authenticators: Mapping[str, Authenticator]
    conditions: Mapping[str, FlowCondition]
    accounts: Accounts


@dataclass(frozen=True, slots=True)
class FlowRun:
    """Runs the flow of one request of a sign-in.

    All required steps must succeed; a conditional sub-flow is skipped unless all its conditions
    match. Of alternatives the first that succeeds is enough; one that the user has not set up is
    skipped. A flow in which nothing succeeds fails. Executions that were processed before are not
    executed again, so that a flow goes on where the user's last form has left it. Methods raise
    SignInRefused, Overloaded and StoreUnavailable. Keycloak: 15 (password grant flow),
    DefaultAuthenticationFlow (26.7)
    """

    sign_in: SignInAttempt
    _steps: FlowSteps
    _checks: GuardedChecks

    async def run(self) -> Progress:
        """Run the flow from its beginning."""
        return await self._flow(self.sign_in.flow)

    async def submit(self, path: Sequence[FlowStep], form: Form) -> Progress:
        """Take the form of the last step of `path`, then go on."""
        sign_in, step = self.sign_in, path[-1]
        if sign_in.account is not None:
            await self._load_credentials()
        authenticator = self._steps.authenticators[step.authenticator]
        result = await authenticator.submit(sign_in, step.config, form)
        return await self._go_on(path, await self._settle(step, result))

    async def show(self, path: Sequence[FlowStep]) -> Progress:
        """Execute the last step of `path`, then go on where it succeeds."""
        return await self._go_on(path, await self._execute(path[-1]))

    async def _load_credentials(self) -> None:
        account = self.sign_in.account
        if account is not None and account.credentials is None:
            self.sign_in.account = await self._steps.accounts.load_credentials(account)

    async def _is_skipped(self, step: FlowStep) -> bool:
        """Tell whether a conditional sub-flow is not run."""
        flow = step.flow
        if flow is None or step.requirement is not Requirement.CONDITIONAL:
            return False
        for each in flow.conditions:
            condition = self._steps.conditions.get(each.authenticator)
            if condition is None:
                continue  # it does not act: the sub-flow is run
            if not await condition.matches(self.sign_in, each.config, flow):
                return True
        return not flow.conditions

    def _note_success(self, step: FlowStep) -> None:
        """Mark a sub-flow, and let its conditions act after its success."""
        self.sign_in.statuses[step.id] = ExecutionStatus.SUCCESS
        if step.flow is None or step.requirement is not Requirement.CONDITIONAL:
            return
        for each in step.flow.conditions:
            condition = self._steps.conditions.get(each.authenticator)
            if condition is not None:
                condition.succeeded(self.sign_in, each.config)

    async def _go_on(self, path: Sequence[FlowStep], progress: Progress) -> Progress:
        """Continue the flows that contain the step, from the innermost to the outermost."""
        if progress is Progress.WAITING:
            return progress
        for parent in reversed(path[:-1]):
            try:
                progress = await self._step(parent)
            except (AccountNotSetUp, NotIdentified):
                if parent.requirement is not Requirement.ALTERNATIVE:
                    raise
                self.sign_in.statuses[parent.id] = ExecutionStatus.ATTEMPTED
                continue
            if progress is Progress.WAITING:
                return progress
        return await self._flow(self.sign_in.flow)

    async def _flow(self, flow: SignInFlow) -> Progress:
        if flow.has_alternatives:
            return await self._alternatives(flow.steps)
        count = 0
        for step in flow.steps:
            if self.sign_in.statuses.get(step.id) not in _SUCCESSFUL:
                if await self._is_skipped(step):
                    continue
                progress = await self._step(step)
                if progress is not Progress.SUCCEEDED:
                    return progress
            count += 1
        return Progress.SUCCEEDED if count else Progress.FAILED

    async def _alternatives(self, steps: Sequence[FlowStep]) -> Progress:
        sign_in = self.sign_in
        if any(sign_in.statuses.get(step.id) in _SUCCESSFUL for step in steps):
            return Progress.SUCCEEDED
        if sign_in.account is not None and len(steps) > 1:
            await self._load_credentials()
        for step in in_order_of_preference(steps, sign_in):
            try:
                progress = await self._step(step)
            except (AccountNotSetUp, NotIdentified):
                sign_in.statuses[step.id] = ExecutionStatus.ATTEMPTED
                continue
            if progress is not Progress.FAILED:
                return progress
        return Progress.FAILED

    async def _step(self, step: FlowStep) -> Progress:
        sign_in = self.sign_in
        status = sign_in.statuses.get(step.id)
        if status in _DONE:
            return Progress.SUCCEEDED if status in _SUCCESSFUL else Progress.FAILED
        if step.flow is None:
            return await self._execute(step)
        progress = await self._flow(step.flow)
        if progress is Progress.SUCCEEDED:
            self._note_success(step)
        else:
            waiting = progress is Progress.WAITING
            sign_in.statuses[step.id] = (
                ExecutionStatus.CHALLENGED if waiting else ExecutionStatus.FAILED
            )
        return progress

    async def _execute(self, step: FlowStep) -> Progress:
        sign_in, authenticator = self.sign_in, self._steps.authenticators[step.authenticator]
        if authenticator.needs_user:
            if sign_in.account is None:
                raise NotIdentified
            await self._load_credentials()
            required = step.requirement is Requirement.REQUIRED
            is_asked = is_asked_in_any_case(sign_in, step)
            if is_asked or (authenticator.asks_everyone and required):
                pass
            elif not authenticator.is_configured(sign_in.account):
                return self._set_up_later(step)
        return await self._settle(step, await authenticator.authenticate(sign_in, step.config))

    def _set_up_later(self, step: FlowStep) -> Progress:
        """Go on without a required credential that the user sets up after the sign-in."""
        if not is_set_up_later(step):
            raise AccountNotSetUp
        self.sign_in.statuses[step.id] = _SET_UP_LATER
        return Progress.SUCCEEDED

    async def _settle(self, step: FlowStep, result: Result) -> Progress:
        if isinstance(result, SecretCheck):
            result = await self._check(result)
        match result:
            case Challenge():
                return self._challenge(step, result)
            case AuthenticatorOutcome.SUCCEEDED:
                self.sign_in.statuses[step.id] = ExecutionStatus.SUCCESS
                self.sign_in.execution = None
                return Progress.SUCCEEDED
            case AuthenticatorOutcome.NOT_SET_UP:
                return self._set_up_later(step)
            case AuthenticatorOutcome.ATTEMPTED:
                self.sign_in.statuses[step.id] = ExecutionStatus.ATTEMPTED
                return Progress.FAILED

    async def _check(self, check: SecretCheck) -> Challenge | AuthenticatorOutcome:
        """Return the result of comparing the secret; raises the refusal if nothing follows it."""
        sign_in, account = self.sign_in, self.sign_in.account
        if account is None:
            raise NotIdentified
        try:
            await self._checks.require_proven(sign_in, account, check)
        except (InvalidUserCredentials, AccountDisabled) as refusal:
            if check.again is None and not check.is_optional:
                raise
            if check.on_failure is not None:
                check.on_failure()
            sign_in.failure = refusal
            if check.again is None:
                sign_in.information = check.wrong
                return AuthenticatorOutcome.ATTEMPTED
            disabled = isinstance(refusal, AccountDisabled)
            return check.again(refusal.message if disabled else check.wrong)
        if check.on_success is not None:
            check.on_success()
        return AuthenticatorOutcome.SUCCEEDED

    def _challenge(self, step: FlowStep, challenge: Challenge) -> Progress:
        sign_in = self.sign_in
        sign_in.statuses[step.id] = ExecutionStatus.CHALLENGED
        sign_in.execution = step.id
        others = other_ways(sign_in, sign_in.flow.path(step.id))
        ways = tuple((each.id, each.authenticator) for each in others)
        sign_in.challenge = replace(challenge, other_ways=ways)
        return Progress.WAITING
