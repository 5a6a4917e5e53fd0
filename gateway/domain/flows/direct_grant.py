"""The flow of the password grant as a sign-in runs it.

A flow identifies the user first: by user name and password, or by a certificate. Authenticators
that need a page cannot act here; a flow with an enabled one is refused, with the reason.
A sub-flow without an enabled step is ignored; Keycloak answers such a sign-in with 500.
Keycloak: 15
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.certificate_options import (
    PATTERN,
    CertificateOptions,
    certificate_options,
)
from gateway.domain.flows.flows import Execution, Flow, FlowKind, Flows, Requirement
from gateway.domain.limits.patterns import pattern_problem

USERNAME: Final = "direct-grant-validate-username"
PASSWORD: Final = "direct-grant-validate-password"  # noqa: S105 - the name of an authenticator
CERTIFICATE: Final = "direct-grant-auth-x509-username"
CODE: Final = "direct-grant-validate-otp"
ALLOW: Final = "allow-access-authenticator"
DENY: Final = "deny-access-authenticator"
SESSION_LIMITS: Final = "user-session-limits"
USER_CONFIGURED: Final = "conditional-user-configured"
USER_ROLE: Final = "conditional-user-role"
USER_ATTRIBUTE: Final = "conditional-user-attribute"
CLIENT_SCOPE: Final = "conditional-client-scope"
SUB_FLOW_EXECUTED: Final = "conditional-sub-flow-executed"
CREDENTIAL_USED: Final = "conditional-credential"
_IDENTIFYING: Final = ((USERNAME, PASSWORD), (CERTIFICATE,))
"""The authenticators that a flow begins with."""
LATER: Final = frozenset({CODE, ALLOW, DENY, SESSION_LIMITS})
CONDITIONS: Final = frozenset(
    {
        *(USER_CONFIGURED, USER_ROLE, USER_ATTRIBUTE),
        *(CLIENT_SCOPE, SUB_FLOW_EXECUTED, CREDENTIAL_USED),
    }
)
ACTING: Final = frozenset({USERNAME, PASSWORD, CERTIFICATE}) | LATER | CONDITIONS
"""The authenticators that act in the password grant."""
_EXPECTED: Final = "attribute_expected_value"
PATTERNS: Final = frozenset({PATTERN, _EXPECTED})
"""Settings of authenticators that are, or may be, patterns."""
_DEEPEST: Final = 10
"""How many sub-flows may contain one another."""


@dataclass(frozen=True, slots=True)
class FlowStep:
    """An enabled execution: an authenticator with its configuration, or a sub-flow."""

    requirement: Requirement
    authenticator: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    flow: "SignInFlow | None" = None


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """A flow with its enabled executions.

    `conditions` decide whether it is run where its requirement is CONDITIONAL. `steps` are all
    REQUIRED or CONDITIONAL, or all ALTERNATIVE.
    """

    alias: str
    conditions: tuple[FlowStep, ...] = ()
    steps: tuple[FlowStep, ...] = ()


@dataclass(frozen=True, slots=True)
class DirectGrantFlow:
    """A flow of the password grant: how it identifies the user, and what it does afterwards.

    `certificate` says how a certificate identifies the user; None means user name and password.
    """

    certificate: CertificateOptions | None = None
    steps: tuple[FlowStep, ...] = ()


def _standard() -> DirectGrantFlow:
    required = Requirement.REQUIRED
    code = SignInFlow(
        "Direct Grant - Conditional OTP",
        (FlowStep(required, USER_CONFIGURED),),
        (FlowStep(required, CODE),),
    )
    return DirectGrantFlow(steps=(FlowStep(Requirement.CONDITIONAL, flow=code),))


STANDARD_GRANT: Final = _standard()
"""A code of users with a device, after the password."""


def direct_grant_flow(flows: Flows, flow: Flow) -> DirectGrantFlow:
    """Return a flow of the password grant; raises UnusableSetting."""
    if flow.kind is not FlowKind.BASIC or not flow.top_level:
        raise UnusableSetting(f"'{flow.alias}' is no flow that begins a sign-in")
    first, later = _divided(flow)
    steps = _steps(flows, flow, later, _DEEPEST)
    if first[0].authenticator != CERTIFICATE:
        return DirectGrantFlow(steps=steps)
    return DirectGrantFlow(certificate_options(flows.config_of(first[0])), steps)


def _divided(flow: Flow) -> tuple[tuple[Execution, ...], tuple[Execution, ...]]:
    """Return the executions that identify the user, and the later ones."""
    executions = flow.effective
    for names in _IDENTIFYING:
        first = executions[: len(names)]
        required = all(each.requirement is Requirement.REQUIRED for each in first)
        if required and tuple(each.authenticator for each in first) == names:
            return first, executions[len(names) :]
    raise UnusableSetting(
        f"'{flow.alias}' must ask for the user name first and for the password next, both of them"
        " required, or for a certificate first: a sign-in without is not possible"
    )


def _steps(
    flows: Flows, parent: Flow, executions: Iterable[Execution], depth: int
) -> tuple[FlowStep, ...]:
    """Return the steps, without sub-flows in which no step is enabled."""
    steps = (_step(flows, parent, each, depth) for each in executions)
    return tuple(step for step in steps if step.flow is None or step.flow.steps)


def _step(flows: Flows, parent: Flow, execution: Execution, depth: int) -> FlowStep:
    part = flows.find(execution.flow)
    if part is None:
        return _authenticator(flows, parent, execution, LATER)
    if part.kind is not FlowKind.BASIC or not depth:
        raise UnusableSetting(f"'{part.alias}' is no flow that can be run within '{parent.alias}'")
    conditions: tuple[Execution, ...] = ()
    if execution.requirement is Requirement.CONDITIONAL:
        conditions = part.conditions
    inner = SignInFlow(
        part.alias,
        tuple(_authenticator(flows, part, each, CONDITIONS) for each in conditions),
        _steps(flows, part, part.effective, depth - 1),
    )
    return FlowStep(execution.requirement, flow=inner)


def _authenticator(
    flows: Flows, flow: Flow, execution: Execution, acting: frozenset[str]
) -> FlowStep:
    name = execution.authenticator or ""
    if name not in acting:
        raise UnusableSetting(
            f"'{flow.alias}' contains '{name}', which cannot act at this place: disable it"
        )
    config = flows.config_of(execution)
    problem = _PROBLEMS[name](config) if name in _PROBLEMS else None
    if problem is not None:
        raise UnusableSetting(f"'{name}' of '{flow.alias}' cannot act: {problem}")
    return FlowStep(execution.requirement, name, config)


def _attribute_problem(config: Mapping[str, str]) -> str | None:
    if not config:
        return "it is not configured"
    if config.get("regex", "").lower() != "true":
        return None
    return pattern_problem(config.get(_EXPECTED, ""))


def _limits_problem(config: Mapping[str, str]) -> str | None:
    limits = (config.get(name, "0") for name in ("userRealmLimit", "userClientLimit"))
    if not config or not all(_WHOLE_NUMBER.fullmatch(limit) for limit in limits):
        return "its limits are not whole numbers"
    return None


_WHOLE_NUMBER: Final = re.compile("-?[0-9]{1,9}", re.ASCII)
_PROBLEMS: Final[Mapping[str, Callable[[Mapping[str, str]], str | None]]] = {
    USER_ATTRIBUTE: _attribute_problem,
    SESSION_LIMITS: _limits_problem,
}
"""Why an authenticator cannot act with a configuration."""
