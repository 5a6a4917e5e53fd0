"""Which flows may be those of the password grant.

A flow identifies the user first: by user name and password, or by a certificate. Authenticators
that need a page cannot act here; a flow with an enabled one is refused, with the reason.
Keycloak: 15
"""

from typing import Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.authenticator_kinds import (
    CERTIFICATE,
    CODE,
    KIND_OF,
    PASSWORD,
    USER_CONFIGURED,
    USERNAME,
    Place,
)
from gateway.domain.flows.certificate_identity import certificate_options
from gateway.domain.flows.flows import Flow, Flows, Requirement
from gateway.domain.flows.sign_in_flow import FlowStep, SignInFlow, sign_in_flow

_IDENTIFYING: Final = ((USERNAME, PASSWORD), (CERTIFICATE,))
"""The authenticators that a flow begins with."""


def _standard() -> SignInFlow:
    required, conditional = Requirement.REQUIRED, Requirement.CONDITIONAL
    code = SignInFlow(
        "Direct Grant - Conditional OTP",
        (FlowStep(required, USER_CONFIGURED, id=USER_CONFIGURED),),
        (FlowStep(required, CODE, id=CODE),),
    )
    first = (FlowStep(required, name, id=name) for name in (USERNAME, PASSWORD))
    steps = (*first, FlowStep(conditional, flow=code, id=code.alias))
    return SignInFlow("direct grant", steps=steps, id="direct grant")


STANDARD_GRANT: Final = _standard()
"""User name and password, then a code of users with a device."""


def direct_grant_flow(flows: Flows, flow: Flow) -> SignInFlow:
    """Return a flow of the password grant; raises UnusableSetting."""
    found = sign_in_flow(flows, flow)
    first = _first(found)
    if first[0].authenticator == CERTIFICATE:
        certificate_options(first[0].config)
    for step in found.steps[len(first) :]:
        _require_acting(found, step, Place.LATER)
    return found


def needs_username(flow: SignInFlow) -> bool:
    """Tell whether a flow of the password grant begins with a user name."""
    return flow.steps[0].authenticator == USERNAME


def _first(flow: SignInFlow) -> tuple[FlowStep, ...]:
    """Return the steps that identify the user."""
    for names in _IDENTIFYING:
        first = flow.steps[: len(names)]
        required = all(each.requirement is Requirement.REQUIRED for each in first)
        if required and tuple(each.authenticator for each in first) == names:
            return first
    raise UnusableSetting(
        f"'{flow.alias}' must ask for the user name first and for the password next, both of them"
        " required, or for a certificate first: a sign-in without is not possible"
    )


def _require_acting(parent: SignInFlow, step: FlowStep, place: Place) -> None:
    """Raise UnusableSetting for a step that cannot act at its place."""
    if step.flow is not None:
        for condition in step.flow.conditions:
            _require_acting(step.flow, condition, Place.CONDITION)
        for inner in step.flow.steps:
            _require_acting(step.flow, inner, Place.LATER)
        return
    name = step.authenticator
    kind = KIND_OF.get(name)
    if kind is None or kind.direct_grant is not place:
        raise UnusableSetting(
            f"'{parent.alias}' contains '{name}', which cannot act at this place: disable it"
        )
    problem = kind.problem(step.config)
    if problem is not None:
        raise UnusableSetting(f"'{name}' of '{parent.alias}' cannot act: {problem}")
