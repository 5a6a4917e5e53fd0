"""The bound flows of a realm, and its required actions, as a sign-in runs them.

The others are the flows of the password grant, of registration and of client authentication. A flow
of the password grant identifies the user first: by user name and password, or by a certificate.
Authenticators that need a page cannot act there; a flow with an enabled one is refused, with the
reason. A flow of registration has one form, whose actions all act and of which the first one
creates the user. A flow that requires more, such as reCAPTCHA, is refused with the reason:
registration would always fail.
Keycloak: ClientAuthenticationFlow, measured; the bound flows, required actions that are asked for
by what is true of a user; 15 (password grant flow)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS
from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.certificate_identity import certificate_options
from gateway.domain.flows.flows import (
    CERTIFICATE,
    CODE,
    FORM_ACTIONS,
    KIND_OF,
    PASSWORD,
    REGISTRATION_FORM,
    USER_CONFIGURED,
    USER_CREATION,
    USERNAME,
    Flow,
    FlowKind,
    Flows,
    FlowStep,
    PasswordGrantPlace,
    Requirement,
    SignInFlow,
    sign_in_flow,
)
from gateway.domain.realm import FlowBindings

CLIENT_METHODS: Final = frozenset(each.id for each in CLIENT_AUTHENTICATORS)
"""Keycloak's names of what a client may authenticate by."""


def client_methods(flows: Flows, flow: Flow) -> frozenset[str]:
    """Return by what clients may authenticate; raises UnusableSetting."""
    del flows
    if flow.kind is not FlowKind.CLIENT or not flow.top_level:
        raise UnusableSetting(f"'{flow.alias}' is no flow in which clients authenticate")
    methods = frozenset(step.authenticator or "" for step in flow.effective)
    if not methods <= CLIENT_METHODS:
        raise UnusableSetting(f"'{flow.alias}' must consist of methods of clients alone")
    return methods


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
        _require_acting(found, step, PasswordGrantPlace.LATER)
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


def _require_acting(parent: SignInFlow, step: FlowStep, place: PasswordGrantPlace) -> None:
    """Raise UnusableSetting for a step that cannot act at its place."""
    if step.flow is not None:
        for condition in step.flow.conditions:
            _require_acting(step.flow, condition, PasswordGrantPlace.CONDITION)
        for inner in step.flow.steps:
            _require_acting(step.flow, inner, PasswordGrantPlace.LATER)
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


CONFIGURE_RECOVERY_CODES: Final = "CONFIGURE_RECOVERY_AUTHN_CODES"
CONFIGURE_TOTP: Final = "CONFIGURE_TOTP"
DELETE_ACCOUNT: Final = "delete_account"
DELETE_CREDENTIAL: Final = "delete_credential"
TERMS_AND_CONDITIONS: Final = "TERMS_AND_CONDITIONS"
UPDATE_EMAIL: Final = "UPDATE_EMAIL"
UPDATE_PROFILE: Final = "UPDATE_PROFILE"
UPDATE_PASSWORD: Final = "UPDATE_PASSWORD"  # noqa: S105 - the name of a required action
VERIFY_EMAIL: Final = "VERIFY_EMAIL"
VERIFY_PROFILE: Final = "VERIFY_PROFILE"
REGISTER_SECURITY_KEY: Final = "webauthn-register"
REGISTER_PASSKEY: Final = "webauthn-register-passwordless"
REQUIRED_ACTIONS: Final = frozenset(
    {
        CONFIGURE_RECOVERY_CODES,
        CONFIGURE_TOTP,
        TERMS_AND_CONDITIONS,
        UPDATE_EMAIL,
        UPDATE_PASSWORD,
        UPDATE_PROFILE,
        VERIFY_EMAIL,
        VERIFY_PROFILE,
        DELETE_ACCOUNT,
        DELETE_CREDENTIAL,
        "idp_link",
        "update_user_locale",
        REGISTER_PASSKEY,
        REGISTER_SECURITY_KEY,
    }
)
"""Aliases of Keycloak's built-in required actions (26.7)."""
_NUMBER: Final = re.compile(r"-?[0-9]{1,9}")
_ACTION_ORDER: Final = {alias: place for place, alias in enumerate(sorted(REQUIRED_ACTIONS))}
_RESEND_PAUSE: Final = timedelta(seconds=30)
BROWSER: Final = "browser"
DIRECT_GRANT: Final = "direct_grant"
"""The uses for which a client may have a flow of its own."""
_BUILT_IN: Final = frozenset({"browser", "direct grant"})
"""Built-in flows that clients may have as their own; other built-in ones are no sign-ins."""


@dataclass(frozen=True, slots=True)
class RequiredAction:
    """An action that users may have to perform. Keycloak: RequiredActionProviderModel."""

    alias: str
    name: str | None
    provider: str
    enabled: bool = True
    is_default: bool = False
    """New users have to perform it."""
    priority: int = 0
    config: Mapping[str, str] = field(default_factory=dict)


class FlowUse(StrEnum):
    """What a flow in a browser begins with; the value is that of Keycloak's URL."""

    SIGN_IN = "authenticate"
    REGISTRATION = "registration"
    RESET_CREDENTIALS = "reset-credentials"


@dataclass(frozen=True, slots=True)
class SignInRules:
    """The flows of a realm. A use without a flow refuses every sign-in: its flow is unusable."""

    direct_grant: SignInFlow | None = STANDARD_GRANT
    browser: SignInFlow | None = None
    registration: SignInFlow | None = None
    reset_credentials: SignInFlow | None = None
    flows: Mapping[str, SignInFlow] = field(default_factory=dict)
    """By id, for clients that have one of their own, and for sign-ins that go on."""
    direct_grants: frozenset[str] = frozenset()
    """Ids of those that may be flows of the password grant."""
    client_methods: frozenset[str] = CLIENT_METHODS
    off: frozenset[str] = frozenset()
    """Aliases of the actions that are required only where an administrator has set them."""
    action_order: Mapping[str, int] = field(default_factory=lambda: dict(_ACTION_ORDER))
    """The priority of each action of the realm, by its alias: the lowest comes first."""
    action_ages: Mapping[str, timedelta | None] = field(default_factory=dict)
    """Maximum age of a sign-in, by action (`max_auth_age`); None: any age."""
    resend_pauses: Mapping[str, timedelta] = field(default_factory=dict)
    """How long users wait before an action sends another mail: `emailResendCooldownSeconds`."""
    verifies_new_email: bool = False
    """`verifyEmail` of UPDATE_EMAIL: a new address is confirmed whatever the realm says."""
    recovery_codes_threshold: int | None = None
    """`warning_threshold`: so many recovery codes are too few; None: see the password policy."""

    def offers(self, action: str) -> bool:
        """Tell whether the realm has a required action and has not switched it off."""
        return action in self.action_order and action not in self.off

    def resend_pause(self, alias: str) -> timedelta:
        """Return how long a user waits before the action sends another mail."""
        return self.resend_pauses.get(alias, _RESEND_PAUSE)

    def every_step(self) -> Iterator[FlowStep]:
        """Yield the steps of all flows that sign users in."""
        for flow in (self.browser, self.direct_grant, *self.flows.values()):
            if flow is not None:
                yield from flow.every_step()

    def find_flow(self, flow_id: str) -> SignInFlow | None:
        """Return the flow with the id; None where it was removed, or is unusable."""
        for bound in (
            self.browser,
            self.direct_grant,
            self.registration,
            self.reset_credentials,
        ):
            if bound is not None and bound.id == flow_id:
                return bound
        return self.flows.get(flow_id)

    def use_of(self, flow_id: str) -> FlowUse:
        """Return what a sign-in that runs the flow has begun with."""
        for use, bound in (
            (FlowUse.REGISTRATION, self.registration),
            (FlowUse.RESET_CREDENTIALS, self.reset_credentials),
        ):
            if bound is not None and bound.id == flow_id:
                return use
        return FlowUse.SIGN_IN

    def browser_flow(
        self, overrides: Mapping[str, str], use: FlowUse = FlowUse.SIGN_IN
    ) -> SignInFlow | None:
        """Return the flow of a client's page; None where it is not possible."""
        if use is FlowUse.REGISTRATION:
            return self.registration
        if use is FlowUse.RESET_CREDENTIALS:
            return self.reset_credentials
        own = overrides.get(BROWSER)
        return self.browser if own is None else self.flows.get(own)

    def named(self, alias: str) -> SignInFlow | None:
        """Return the flow that signs users in, by its alias; None where none can be used."""
        return next((flow for flow in self.flows.values() if flow.alias == alias), None)

    def direct_grant_flow(self, overrides: Mapping[str, str]) -> SignInFlow | None:
        """Return the flow of a client's password grant; None refuses the sign-in."""
        own = overrides.get(DIRECT_GRANT)
        if own is None:
            return self.direct_grant
        return self.flows.get(own) if own in self.direct_grants else None


STANDARD: Final = SignInRules()


def sign_in_rules(
    bindings: FlowBindings, flows: Flows, actions: Sequence[RequiredAction], known: Iterable[str]
) -> SignInRules:
    """Return what flows and actions come to; of `known` aliases those not among them are off."""
    usable = {
        flow.id: found
        for flow in flows
        if _may_sign_in(flow, bindings) and (found := _usable(flows, flow)) is not None
    }
    grants = frozenset(
        flow.id for flow in flows if flow.id in usable and _is_direct_grant(flows, flow)
    )
    browser, grant = flows.named(bindings.browser), flows.named(bindings.direct_grant)
    clients = flows.named(bindings.client_authentication)
    enabled = {action.alias for action in actions if action.enabled}
    return SignInRules(
        direct_grant=usable[grant.id] if grant is not None and grant.id in grants else None,
        browser=None if browser is None else usable.get(browser.id),
        registration=_bound(flows, bindings.registration, registration_flow),
        reset_credentials=_bound(flows, bindings.reset_credentials, sign_in_flow),
        flows=usable,
        direct_grants=grants,
        client_methods=frozenset() if clients is None else _methods(flows, clients),
        off=frozenset(known) - enabled,
        action_order={action.alias: action.priority for action in actions},
        action_ages=dict(_ages(actions)),
        resend_pauses=dict(_pauses(actions)),
        verifies_new_email=any(
            action.alias == UPDATE_EMAIL and action.config.get("verifyEmail") == "true"
            for action in actions
        ),
        recovery_codes_threshold=_threshold(actions),
    )


def _ages(actions: Iterable[RequiredAction]) -> Iterator[tuple[str, timedelta | None]]:
    for action in actions:
        text = action.config.get("max_auth_age", "")
        if _NUMBER.fullmatch(text):
            seconds = int(text)
            yield action.alias, timedelta(seconds=seconds) if seconds >= 0 else None


def _pauses(actions: Iterable[RequiredAction]) -> Iterator[tuple[str, timedelta]]:
    for action in actions:
        text = action.config.get("emailResendCooldownSeconds", "")
        if _NUMBER.fullmatch(text):
            yield action.alias, timedelta(seconds=max(int(text), 0))


def _threshold(actions: Iterable[RequiredAction]) -> int | None:
    for action in actions:
        text = action.config.get("warning_threshold", "")
        if action.alias == CONFIGURE_RECOVERY_CODES and _NUMBER.fullmatch(text):
            return int(text)
    return None


def _may_sign_in(flow: Flow, bindings: FlowBindings) -> bool:
    if flow.kind is not FlowKind.BASIC or not flow.top_level:
        return False
    bound = flow.alias in {bindings.browser, bindings.direct_grant}
    return bound or not flow.built_in or flow.alias in _BUILT_IN


def _bound(
    flows: Flows, alias: str | None, read: Callable[[Flows, Flow], SignInFlow]
) -> SignInFlow | None:
    """Return the flow that is bound to a use; None where it cannot be used."""
    flow = flows.named(alias)
    if flow is None:
        return None
    try:
        return read(flows, flow)
    except UnusableSetting:
        return None


def _usable(flows: Flows, flow: Flow) -> SignInFlow | None:
    try:
        return sign_in_flow(flows, flow)
    except UnusableSetting:
        return None


def _is_direct_grant(flows: Flows, flow: Flow) -> bool:
    try:
        direct_grant_flow(flows, flow)
    except UnusableSetting:
        return False
    return True


def _methods(flows: Flows, flow: Flow) -> frozenset[str]:
    try:
        return client_methods(flows, flow)
    except UnusableSetting:
        return frozenset()
