"""Flows: in which order a sign-in, or a client's proof, asks for what.

A flow has executions, each an authenticator or a flow of its own. What a flow comes to, where it is
in use, is the business of `flow_effects`.
Keycloak: AuthenticationFlowModel, AuthenticationExecutionModel
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Requirement(StrEnum):
    """What becomes of a flow where an execution succeeds, or does not."""

    REQUIRED = "REQUIRED"
    CONDITIONAL = "CONDITIONAL"
    ALTERNATIVE = "ALTERNATIVE"
    DISABLED = "DISABLED"


class FlowKind(StrEnum):
    """Who proves something: a user, a client, or a user who fills in a form."""

    BASIC = "basic-flow"
    CLIENT = "client-flow"
    FORM = "form-flow"


@dataclass(frozen=True, slots=True)
class Execution:
    """A step of a flow: `authenticator`, or the flow with the id `flow`; a form is both.

    `config` is the id of its configuration.
    """

    id: str
    requirement: Requirement
    priority: int
    authenticator: str | None = None
    flow: str | None = None
    config: str | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow with its executions in the order of their priority."""

    id: str
    alias: str
    kind: FlowKind
    description: str = ""
    top_level: bool = True
    built_in: bool = False
    executions: tuple[Execution, ...] = ()

    def with_executions(self, executions: Iterable[Execution]) -> "Flow":
        return replace(self, executions=tuple(sorted(executions, key=lambda one: one.priority)))

    def exchanging(self, execution: Execution) -> "Flow":
        return self.with_executions(
            execution if other.id == execution.id else other for other in self.executions
        )


@dataclass(frozen=True, slots=True)
class AuthenticatorConfig:
    """What is set of an execution."""

    id: str
    alias: str | None
    config: tuple[tuple[str, str], ...] = ()


class Flows:
    """All flows of a realm."""

    def __init__(self, flows: Iterable[Flow]) -> None:
        self._by_id = {flow.id: flow for flow in flows}
        self._parents = {
            execution.flow: flow.id
            for flow in self._by_id.values()
            for execution in flow.executions
            if execution.flow is not None
        }

    def __iter__(self) -> Iterator[Flow]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, flow_id: str | None) -> Flow | None:
        return None if flow_id is None else self._by_id.get(flow_id)

    def named(self, alias: str | None) -> Flow | None:
        return next((flow for flow in self if flow.alias == alias), None)

    def holding(self, execution_id: str) -> tuple[Flow, Execution] | None:
        """Return the execution with the id, and the flow that it is a step of."""
        for flow in self:
            for execution in flow.executions:
                if execution.id == execution_id:
                    return flow, execution
        return None

    def root(self, flow_id: str) -> Flow:
        """Return the flow that begins where this one is a part; itself where it is none."""
        seen = {flow_id}
        while (parent := self._parents.get(flow_id)) is not None and parent not in seen:
            seen.add(parent)
            flow_id = parent
        return self._by_id[flow_id]

    def below(self, flow_id: str) -> tuple[Flow, ...]:
        """Return the flow and all that it consists of."""
        found: dict[str, Flow] = {}
        waiting = [flow_id]
        while waiting:
            flow = self._by_id.get(waiting.pop())
            if flow is not None and flow.id not in found:
                found[flow.id] = flow
                waiting += [each.flow for each in flow.executions if each.flow is not None]
        return tuple(found.values())
