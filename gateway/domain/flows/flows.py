"""Flows: in which order a sign-in, or a client's proof, asks for what.

A flow has executions, each an authenticator or a flow of its own.
Keycloak: AuthenticationFlowModel, AuthenticationExecutionModel
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class Requirement(StrEnum):
    """What becomes of a flow where an execution succeeds, or does not."""

    REQUIRED = "REQUIRED"
    CONDITIONAL = "CONDITIONAL"
    ALTERNATIVE = "ALTERNATIVE"
    DISABLED = "DISABLED"


_REQUIRING: Final = (Requirement.REQUIRED, Requirement.CONDITIONAL)


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

    @property
    def is_condition(self) -> bool:
        """Tell whether it decides about its flow, by Keycloak's names of authenticators."""
        return (self.authenticator or "").startswith("conditional-")


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow with its executions in the order of their priority."""

    id: str
    alias: str
    kind: FlowKind
    description: str | None = ""
    top_level: bool = True
    built_in: bool = False
    executions: tuple[Execution, ...] = ()

    def with_executions(self, executions: Iterable[Execution]) -> "Flow":
        return replace(self, executions=tuple(sorted(executions, key=lambda one: one.priority)))

    @property
    def parts(self) -> tuple[str, ...]:
        """The ids of its sub-flows."""
        return tuple(each.flow for each in self.executions if each.flow is not None)

    @property
    def effective(self) -> tuple[Execution, ...]:
        """The executions that take part: alternatives only where nothing is required.

        Conditions take no part: they decide whether their flow is run.
        """
        enabled = tuple(
            each
            for each in self.executions
            if each.requirement is not Requirement.DISABLED and not each.is_condition
        )
        required = tuple(each for each in enabled if each.requirement in _REQUIRING)
        return required or enabled

    @property
    def conditions(self) -> tuple[Execution, ...]:
        """The enabled conditions."""
        return tuple(
            each
            for each in self.executions
            if each.requirement is not Requirement.DISABLED and each.is_condition
        )

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

    @property
    def size(self) -> int:
        """Its characters, and some for each entry."""
        return 100 + sum(len(name) + len(value) + 16 for name, value in self.config)


class Flows:
    """All flows of a realm, and the configurations of their executions by id."""

    def __init__(
        self, flows: Iterable[Flow], configs: Mapping[str, AuthenticatorConfig] | None = None
    ) -> None:
        self._by_id = {flow.id: flow for flow in flows}
        self._configs = configs or {}
        self._parents: defaultdict[str, set[str]] = defaultdict(set)
        for flow in self._by_id.values():
            for part in flow.parts:
                self._parents[part].add(flow.id)

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

    def config_of(self, execution: Execution) -> Mapping[str, str]:
        """Return what is set of an execution."""
        config = self._configs.get(execution.config or "")
        return {} if config is None else dict(config.config)

    def configured(self, config_id: str) -> str | None:
        """Return the authenticator with that configuration; None where no execution has it."""
        for flow in self:
            for execution in flow.executions:
                if execution.config == config_id:
                    return execution.authenticator
        return None

    def is_part(self, flow_id: str) -> bool:
        """Tell whether any flow contains this one."""
        return bool(self._parents.get(flow_id))

    def below(self, flow_id: str) -> tuple[Flow, ...]:
        """Return the flow and all that it consists of."""
        found: dict[str, Flow] = {}
        waiting = [flow_id]
        while waiting:
            flow = self._by_id.get(waiting.pop())
            if flow is not None and flow.id not in found:
                found[flow.id] = flow
                waiting += flow.parts
        return tuple(found.values())
