"""A stored flow as a sign-in runs it.

A sub-flow without an enabled step is ignored; Keycloak answers such a sign-in with 500.
Keycloak: DefaultAuthenticationFlow
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.flows import Execution, Flow, FlowKind, Flows, Requirement

_DEEPEST: Final = 10
"""How many sub-flows may contain one another."""
_MOST_STEPS: Final = 1000
_VERSION_BYTES: Final = 9


@dataclass(frozen=True, slots=True)
class FlowStep:
    """An enabled execution: an authenticator with its configuration, or a sub-flow.

    `id` is that of the execution.
    """

    requirement: Requirement
    authenticator: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    flow: "SignInFlow | None" = None
    id: str = field(default="", compare=False)
    actions: "tuple[FlowStep, ...]" = ()
    """The enabled actions of an authenticator that is a form of several parts."""


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """A flow with its enabled executions.

    `conditions` decide whether it is run where its requirement is CONDITIONAL. `steps` are all
    REQUIRED or CONDITIONAL, or all ALTERNATIVE.
    """

    alias: str
    conditions: tuple[FlowStep, ...] = ()
    steps: tuple[FlowStep, ...] = ()
    id: str = field(default="", compare=False)
    version: str = field(default="", compare=False)
    """12 characters that change with the executions, their requirements and configurations."""

    @property
    def has_alternatives(self) -> bool:
        return bool(self.steps) and self.steps[0].requirement is Requirement.ALTERNATIVE

    def every_step(self) -> Iterator[FlowStep]:
        """Yield the steps and conditions of the flow and of its sub-flows."""
        for step in (*self.conditions, *self.steps):
            yield step
            if step.flow is not None:
                yield from step.flow.every_step()

    def path(self, execution: str | None) -> tuple[FlowStep, ...]:
        """Return the steps from the flow down to the execution; empty where it has none."""
        for step in self.steps:
            if step.id == execution:
                return (step,)
            below = () if step.flow is None else step.flow.path(execution)
            if below:
                return (step, *below)
        return ()


def sign_in_flow(flows: Flows, flow: Flow) -> SignInFlow:
    """Return a flow as it is run; raises UnusableSetting for one that cannot begin a sign-in."""
    if flow.kind is not FlowKind.BASIC or not flow.top_level:
        raise UnusableSetting(f"'{flow.alias}' is no flow that begins a sign-in")
    read = _Reading(flows).flow(flow, _DEEPEST, conditional=False)
    return replace(read, version=_version(read))


def _version(flow: SignInFlow) -> str:
    text = json.dumps([_content(step) for step in flow.every_step()])
    digest = hashlib.blake2b(text.encode(), digest_size=_VERSION_BYTES).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii")


def _content(step: FlowStep) -> Sequence[object]:
    """Return what a sign-in is run by; a sub-flow's own steps follow it in the text."""
    inner = None if step.flow is None else len(tuple(step.flow.every_step()))
    config = sorted(step.config.items())
    actions = [_content(action) for action in step.actions]
    return step.id, step.requirement, step.authenticator, config, inner, actions


class _Reading:
    """Reads one flow; a stored flow may contain another one twice, so that steps are counted."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows
        self._count = 0

    def flow(self, flow: Flow, depth: int, *, conditional: bool) -> SignInFlow:
        conditions = flow.conditions if conditional else ()
        steps = (self._step(flow, each, depth) for each in flow.effective)
        return SignInFlow(
            flow.alias,
            tuple(self._authenticator(each) for each in conditions),
            tuple(step for step in steps if step.flow is None or step.flow.steps),
            flow.id,
        )

    def _step(self, parent: Flow, execution: Execution, depth: int) -> FlowStep:
        self._count += 1
        if self._count > _MOST_STEPS:
            raise UnusableSetting(f"'{parent.alias}' has more than {_MOST_STEPS} steps")
        part = self._flows.find(execution.flow)
        if part is None or execution.authenticator:
            return self._authenticator(execution)
        if part.kind is not FlowKind.BASIC or not depth:
            text = f"'{part.alias}' is no flow that can be run within '{parent.alias}'"
            raise UnusableSetting(text)
        conditional = execution.requirement is Requirement.CONDITIONAL
        inner = self.flow(part, depth - 1, conditional=conditional)
        return FlowStep(execution.requirement, flow=inner, id=execution.id)

    def _authenticator(self, execution: Execution) -> FlowStep:
        config = self._flows.config_of(execution)
        name = execution.authenticator or ""
        form = self._flows.find(execution.flow)
        actions = () if form is None else tuple(map(self._authenticator, form.effective))
        return FlowStep(execution.requirement, name, config, actions=actions, id=execution.id)
