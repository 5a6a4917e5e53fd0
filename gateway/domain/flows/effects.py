"""What a flow comes to where it is in use; what could have no effect is refused with its reason.

Of the flow of the password grant, one thing can be chosen: whether a code is asked for after the
password. Of the flow in which clients prove themselves, which methods there are. Flows of pages are
of no effect before there are pages, and cannot be changed while they are in use.
Keycloak: DefaultAuthenticationFlow, ClientAuthenticationFlow, measured
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS
from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.flows import Execution, Flow, FlowKind, Flows, Requirement

USERNAME: Final = "direct-grant-validate-username"
PASSWORD: Final = "direct-grant-validate-password"  # noqa: S105 - the name of an authenticator
CODE: Final = "direct-grant-validate-otp"
USER_CONFIGURED: Final = "conditional-user-configured"
CLIENT_METHODS: Final = frozenset(each.id for each in CLIENT_AUTHENTICATORS)
"""Keycloak's names of what a client may prove itself by."""
_ASKING: Final = (Requirement.REQUIRED, Requirement.CONDITIONAL)


class SecondFactor(Enum):
    """Whether a code is asked for after the password."""

    NEVER = "never"
    WHERE_SET_UP = "where set up"
    ALWAYS = "always"


def second_factor(flows: Flows, flow: Flow) -> SecondFactor:
    """Return what a flow of the password grant asks for; raises UnusableSetting."""
    if flow.kind is not FlowKind.BASIC or not flow.top_level:
        raise UnusableSetting(f"'{flow.alias}' is no flow that begins a sign-in")
    steps = _effective(flow.executions)
    first = [step.authenticator for step in steps[:2]]
    if first != [USERNAME, PASSWORD]:
        raise UnusableSetting(
            f"'{flow.alias}' must ask for the user name first and for the password next, both of "
            "them required: a sign-in without is not made here"
        )
    if len(steps) > len(first) + 1:
        raise UnusableSetting(f"'{flow.alias}' must ask for one thing at most after the password")
    return _code(flows, flow, steps[-1]) if len(steps) > len(first) else SecondFactor.NEVER


def client_methods(flows: Flows, flow: Flow) -> frozenset[str]:
    """Return by what clients may prove themselves; raises UnusableSetting."""
    del flows
    if flow.kind is not FlowKind.CLIENT or not flow.top_level:
        raise UnusableSetting(f"'{flow.alias}' is no flow in which clients prove themselves")
    methods = frozenset(step.authenticator or "" for step in _effective(flow.executions))
    if not methods <= CLIENT_METHODS:
        raise UnusableSetting(f"'{flow.alias}' must consist of methods of clients alone")
    return methods


def _code(flows: Flows, flow: Flow, step: Execution) -> SecondFactor:
    """Return what the step after the password comes to."""
    if step.authenticator == CODE:
        return SecondFactor.ALWAYS
    part = flows.find(step.flow)
    if part is None or part.kind is not FlowKind.BASIC:
        raise _only_code(flow)
    conditions = [each for each in part.executions if _is_condition(each)]
    others = _effective(each for each in part.executions if not _is_condition(each))
    if not others:
        return SecondFactor.NEVER
    if [each.authenticator for each in others] != [CODE]:
        raise _only_code(flow)
    if step.requirement is not Requirement.CONDITIONAL:
        return SecondFactor.ALWAYS
    asked = {each.authenticator for each in conditions if each.requirement in _ASKING}
    if asked - {USER_CONFIGURED}:
        raise UnusableSetting(f"'{flow.alias}' may ask for a code of those who have one, or of all")
    return SecondFactor.WHERE_SET_UP if asked else SecondFactor.NEVER


def _effective(executions: Iterable[Execution]) -> list[Execution]:
    """Return the steps that are taken: alternatives count where nothing is required."""
    enabled = [each for each in executions if each.requirement is not Requirement.DISABLED]
    asking = [each for each in enabled if each.requirement in _ASKING]
    return asking or enabled


def _is_condition(execution: Execution) -> bool:
    return (execution.authenticator or "").startswith("conditional-")


def _only_code(flow: Flow) -> UnusableSetting:
    return UnusableSetting(
        f"'{flow.alias}' may ask for a one-time password after the password, and for nothing else"
    )
