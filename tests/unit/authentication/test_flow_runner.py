"""Which flows succeed, with authenticators of known answers. Keycloak: DefaultAuthenticationFlow.

The leaves are authenticators whose names say what they answer: `yes`, `attempted`, `not set up`,
`later` (set up after the sign-in), `refused`, `form` (succeeds when its form was filled in).
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import ClassVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.brute_force_protection import BruteForceGuard
from gateway.authentication.engine import SignInContext
from gateway.authentication.engine.flow_runner import FlowRun, FlowSteps, Progress
from gateway.authentication.engine.proofs import GuardedChecks, PermanentLockouts
from gateway.authentication.engine.sign_in import (
    Authenticator,
    AuthenticatorOutcome,
    Config,
    FlowCondition,
    Form,
    Result,
    SignInAttempt,
)
from gateway.authentication.errors import AccessDenied, SignInRefused
from gateway.domain.authentication import Challenge, FormName, new_authentication_session
from gateway.domain.flows import CODE_FORM, FlowStep, Requirement, SignInFlow
from gateway.domain.ports.invalidation import Invalidation
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.observability import Metrics
from gateway.domain.ports.signing import KeyRing
from gateway.domain.ports.storage import Database
from tests.support.stored_values import NOW, client, realm, user

REQUIRED, ALTERNATIVE = Requirement.REQUIRED, Requirement.ALTERNATIVE
CONDITIONAL = Requirement.CONDITIONAL
SUCCEEDED, FAILED, WAITING = Progress.SUCCEEDED, Progress.FAILED, Progress.WAITING
IDS = count(1)
ANSWERS = ("yes", "attempted", "not set up", "refused", "form", "other form")


@dataclass
class Answering:
    """An authenticator that answers with its name; `succeeded` are the executions that did."""

    id: str
    succeeded: list[str] = field(default_factory=list)
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = False

    def is_configured(self, account: Account) -> bool:
        del account
        return self.id not in {"not set up", CODE_FORM}

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        del sign_in
        match self.id:
            case "yes":
                self.succeeded.append(config["id"])
                return AuthenticatorOutcome.SUCCEEDED
            case "refused":
                raise AccessDenied("access_denied", "alice-uuid", "Access denied")
            case "form" | "other form":
                return Challenge(FormName.PASSWORD)
            case _:
                return AuthenticatorOutcome.ATTEMPTED

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        if form.get("answer") != "right":
            return await self.authenticate(sign_in, config)
        self.succeeded.append(config["id"])
        return AuthenticatorOutcome.SUCCEEDED


class Deciding(FlowCondition):
    """A condition that always decides the same."""

    def __init__(self, name: str, *, matches: bool) -> None:
        self.id = name
        self._matches = matches

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        del sign_in, config, flow
        return self._matches


def step(name: str, requirement: Requirement = REQUIRED) -> FlowStep:
    """Return an execution of an authenticator."""
    number = str(next(IDS))
    return FlowStep(requirement, name, {"id": number}, id=number)


def either(name: str) -> FlowStep:
    """Return an alternative."""
    return step(name, ALTERNATIVE)


def sub_flow(*steps: FlowStep, requirement: Requirement = REQUIRED, when: str = "") -> FlowStep:
    """Return a sub-flow; `when` is its condition."""
    conditions = (step(when),) if when else ()
    number = str(next(IDS))
    flow = SignInFlow(f"flow {number}", conditions, steps)
    return FlowStep(CONDITIONAL if when else requirement, flow=flow, id=number)


class SignInOfAlice:
    """A sign-in of a user who is named already, through a flow."""

    def __init__(self, *steps: FlowStep) -> None:
        self.flow = SignInFlow("top", steps=steps)
        names = {each.authenticator for each in self.flow.every_step()}
        self.answering = {name: Answering(name) for name in names}
        conditions = {name: Deciding(name, matches=name == "true") for name in ("true", "false")}
        accounts = Accounts(cast("Database", None))
        self.steps = FlowSteps(
            cast("Mapping[str, Authenticator]", self.answering),
            cast("dict[str, FlowCondition]", conditions),
            accounts,
        )
        entry = RealmEntry(realm("demo"), cast("KeyRing", None))
        session = new_authentication_session(
            realm_id="demo-id", client="c", flow="top", started_at=NOW
        )
        context = SignInContext(entry, client(), "192.0.2.1", NOW)
        self.sign_in = SignInAttempt(context, session, self.flow)
        self.sign_in.identify(Account(user("alice"), (), "alice-uuid"), "alice")

    @property
    def succeeded(self) -> set[str]:
        """The executions that succeeded."""
        return {each for one in self.answering.values() for each in one.succeeded}

    def begin(self) -> Progress:
        return asyncio.run(FlowRun(self.sign_in, self.steps, _checks()).run())

    def submit(self, answer: str = "right") -> Progress:
        path = self.flow.path(self.sign_in.execution)
        form = {"answer": answer}
        run = FlowRun(self.sign_in, self.steps, _checks())
        return asyncio.run(run.submit(path, form))


def _checks() -> GuardedChecks:
    guard = BruteForceGuard(cast("LoginFailureStore", None), cast("Metrics", None))
    lockouts = PermanentLockouts(cast("Database", None), cast("Invalidation", None))
    return GuardedChecks(guard, lockouts)


@pytest.mark.parametrize(
    ("steps", "progress"),
    [
        ((), FAILED),
        ((step("yes"),), SUCCEEDED),
        ((step("yes"), step("yes")), SUCCEEDED),
        ((step("yes"), step("attempted")), FAILED),
        ((step("attempted"), step("form")), FAILED),
        ((step("form"), step("attempted")), WAITING),
        ((step(CODE_FORM), step("yes")), SUCCEEDED),
        ((either("attempted"), either("yes")), SUCCEEDED),
        ((either("attempted"), either("attempted")), FAILED),
        ((either("not set up"), either("form")), WAITING),
        ((either(CODE_FORM),), FAILED),
        ((either("form"), either("refused")), WAITING),
        ((sub_flow(step("yes")),), SUCCEEDED),
        ((sub_flow(step("attempted")),), FAILED),
        ((sub_flow(step("refused"), when="false"), step("yes")), SUCCEEDED),
        ((sub_flow(step("attempted"), when="true"), step("yes")), FAILED),
        ((sub_flow(step("refused"), requirement=CONDITIONAL), step("yes")), SUCCEEDED),
        ((sub_flow(step("yes"), when="false"),), FAILED),
        ((sub_flow(sub_flow(step("yes"), when="false")), step("yes")), FAILED),
        (
            (
                sub_flow(step("yes"), step("not set up"), requirement=ALTERNATIVE),
                sub_flow(either("attempted"), either("form"), requirement=ALTERNATIVE),
            ),
            WAITING,
        ),
        ((sub_flow(step("not acting"), when="true"), step("yes")), FAILED),
        ((sub_flow(step("attempted"), when="a condition that does not act"),), FAILED),
    ],
)
def test_a_flow_comes_to(steps: tuple[FlowStep, ...], progress: Progress) -> None:
    assert SignInOfAlice(*steps).begin() is progress


def test_a_refusal_ends_the_sign_in_despite_alternatives() -> None:
    for steps in ((step("refused"),), (either("refused"), either("yes"))):
        with pytest.raises(AccessDenied):
            SignInOfAlice(*steps).begin()


def test_a_flow_goes_on_after_a_form_where_it_was() -> None:
    second = sub_flow(either("not set up"), either("form"), when="true")
    forms = sub_flow(step("other form"), second, requirement=ALTERNATIVE)
    alice = SignInOfAlice(either("attempted"), forms)
    assert alice.begin() is WAITING
    assert alice.submit("wrong") is WAITING
    assert alice.succeeded == set()
    assert alice.submit() is WAITING
    assert alice.submit() is SUCCEEDED
    assert len(alice.succeeded) == 2


def test_a_failed_alternative_gives_way_to_the_next() -> None:
    first = sub_flow(step("form"), step("not set up"), requirement=ALTERNATIVE)
    alice = SignInOfAlice(first, either("other form"))
    assert alice.begin() is WAITING
    assert alice.submit() is WAITING
    assert alice.submit() is SUCCEEDED


def _leaves() -> st.SearchStrategy[FlowStep]:
    return st.builds(step, st.sampled_from(ANSWERS))


def _flows(inner: st.SearchStrategy[FlowStep]) -> st.SearchStrategy[FlowStep]:
    def made(steps: list[FlowStep], when: str, *, alternatives: bool) -> FlowStep:
        requirement = ALTERNATIVE if alternatives else REQUIRED
        fixed = [_with(each, requirement) for each in steps]
        return sub_flow(*fixed, when=when)

    steps = st.lists(inner, min_size=1, max_size=4)
    when = st.sampled_from(["", "true", "false"])
    return st.builds(made, steps, when, alternatives=st.booleans())


def _with(made: FlowStep, requirement: Requirement) -> FlowStep:
    if requirement is REQUIRED and made.requirement is CONDITIONAL:
        return made
    return FlowStep(requirement, made.authenticator, made.config, made.flow, made.id)


TREES = st.recursive(_leaves(), _flows, max_leaves=12)


@given(
    st.lists(TREES, min_size=1, max_size=4),
    st.sampled_from([REQUIRED, ALTERNATIVE]),
    st.lists(st.booleans(), max_size=9),
)
def test_no_flow_succeeds_without_what_it_requires(
    steps: list[FlowStep], requirement: Requirement, answers: list[bool]
) -> None:
    alice = SignInOfAlice(*(_with(each, requirement) for each in steps))
    remaining = iter([*answers, *[True] * 30])
    try:
        progress = alice.begin()
        while progress is WAITING:
            progress = alice.submit("right" if next(remaining) else "wrong")
    except (SignInRefused, StopIteration):
        return
    assert (progress is SUCCEEDED) == _is_satisfied(alice.flow, alice.succeeded)


def _is_satisfied(flow: SignInFlow, succeeded: set[str]) -> bool:
    """Tell by the executions that succeeded, whatever the runner has noted."""
    if flow.has_alternatives:
        return any(_is_met(each, succeeded) for each in flow.steps)
    required = [each for each in flow.steps if not _is_left_out(each)]
    return bool(required) and all(_is_met(each, succeeded) for each in required)


def _is_met(each: FlowStep, succeeded: set[str]) -> bool:
    return each.id in succeeded if each.flow is None else _is_satisfied(each.flow, succeeded)


def _is_left_out(each: FlowStep) -> bool:
    conditions: Iterator[FlowStep] = iter(() if each.flow is None else each.flow.conditions)
    return each.requirement is CONDITIONAL and any(
        one.authenticator == "false" for one in conditions
    )
