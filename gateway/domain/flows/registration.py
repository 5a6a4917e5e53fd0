"""Which flows may be that of registration.

A flow has one form, whose actions all act and of which the first one creates the user. A flow that
requires more, such as reCAPTCHA, is refused with the reason: registration would always fail.
Keycloak: 15
"""

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.authenticator_kinds import FORM_ACTIONS, REGISTRATION_FORM, USER_CREATION
from gateway.domain.flows.flows import Flow, Flows
from gateway.domain.flows.sign_in_flow import SignInFlow, sign_in_flow


def registration_flow(flows: Flows, flow: Flow) -> SignInFlow:
    """Return a flow by which users register; raises UnusableSetting."""
    found = sign_in_flow(flows, flow)
    forms = [step for step in found.every_step() if step.authenticator == REGISTRATION_FORM]
    if len(forms) != 1:
        raise UnusableSetting(f"'{flow.alias}' must have one '{REGISTRATION_FORM}'")
    names = [action.authenticator for action in forms[0].actions]
    for name in names:
        if name not in FORM_ACTIONS:
            raise UnusableSetting(f"'{name}' of '{flow.alias}' cannot act: disable it")
    if names[:1] != [USER_CREATION]:
        raise UnusableSetting(f"'{USER_CREATION}' must come first in '{flow.alias}'")
    return found
