"""Flows: executions in their order, the authenticators that act, and a stored flow as it runs.

A flow has executions, each an authenticator or a flow of its own. `gateway/authentication` has the
authenticators. An authenticator that is not in the table never succeeds: a flow passes it over, and
fails where it is required. A sub-flow without an enabled step is ignored; Keycloak answers such a
sign-in with 500.
Keycloak: AuthenticationFlowModel, AuthenticationExecutionModel, DefaultAuthenticationFlow; 15
(password grant flow), 16 (browser sign-in) (26.7)
"""

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.certificate_identity import PATTERN, certificate_problem
from gateway.domain.limits.patterns import pattern_problem

COOKIE: Final = "auth-cookie"
USERNAME_PASSWORD_FORM: Final = "auth-username-password-form"  # noqa: S105 - an authenticator
USERNAME_FORM: Final = "auth-username-form"
PASSWORD_FORM: Final = "auth-password-form"  # noqa: S105 - the name of an authenticator
CODE_FORM: Final = "auth-otp-form"
RECOVERY_CODE_FORM: Final = "auth-recovery-authn-code-form"
SECURITY_KEY_FORM: Final = "webauthn-authenticator"
PASSKEY_FORM: Final = "webauthn-authenticator-passwordless"
USERNAME: Final = "direct-grant-validate-username"
PASSWORD: Final = "direct-grant-validate-password"  # noqa: S105 - the name of an authenticator
CODE: Final = "direct-grant-validate-otp"
CERTIFICATE: Final = "direct-grant-auth-x509-username"
CERTIFICATE_FORM: Final = "auth-x509-client-username-form"
ALLOW: Final = "allow-access-authenticator"
DENY: Final = "deny-access-authenticator"
SESSION_LIMITS: Final = "user-session-limits"
REGISTRATION_FORM: Final = "registration-page-form"
USER_CONFIGURED: Final = "conditional-user-configured"
USER_ROLE: Final = "conditional-user-role"
USER_ATTRIBUTE: Final = "conditional-user-attribute"
CLIENT_SCOPE: Final = "conditional-client-scope"
SUB_FLOW_EXECUTED: Final = "conditional-sub-flow-executed"
CREDENTIAL_USED: Final = "conditional-credential"
LEVEL: Final = "conditional-level-of-authentication"
USER_CREATION: Final = "registration-user-creation"
REGISTRATION_PASSWORD: Final = "registration-password-action"  # noqa: S105 - a form action
REGISTRATION_TERMS: Final = "registration-terms-and-conditions"
RESET_CHOOSE_USER: Final = "reset-credentials-choose-user"
RESET_EMAIL: Final = "reset-credential-email"
RESET_PASSWORD: Final = "reset-password"  # noqa: S105 - the name of an authenticator
RESET_OTP: Final = "reset-otp"
FORM_ACTIONS: Final = frozenset({USER_CREATION, REGISTRATION_PASSWORD, REGISTRATION_TERMS})
"""The actions of forms that act: parts of the page of registration."""
_EXPECTED: Final = "attribute_expected_value"
PATTERNS: Final = frozenset({PATTERN, _EXPECTED})
"""Settings of authenticators that are, or may be, patterns."""
_WHOLE_NUMBER: Final = re.compile("-?[0-9]{1,9}", re.ASCII)
Config = Mapping[str, str]


class PasswordGrantPlace(StrEnum):
    """Where an authenticator may stand in a flow of the password grant."""

    FIRST = "first"
    """It identifies the user, before everything else."""
    LATER = "later"
    CONDITION = "condition"
    """It decides whether its sub-flow is run."""
    NOWHERE = "nowhere"
    """It needs a browser."""


def _no_problem(config: Config) -> None:
    del config


@dataclass(frozen=True, slots=True)
class AuthenticatorKind:
    """An authenticator that acts; `id` is Keycloak's.

    `credential` is the type of the stored credential that it checks. `required_action` sets that
    credential up for a user without one. `names_user` says that its form may be the first: it asks
    who the user is. `accepts_passkeys` says that its form accepts passkeys too, where the realm has
    them enabled. `problem` says why it cannot act with a configuration.
    """

    id: str
    direct_grant: PasswordGrantPlace
    credential: str | None = None
    required_action: str | None = None
    names_user: bool = False
    accepts_passkeys: bool = False
    problem: Callable[[Config], str | None] = _no_problem


def _attribute_problem(config: Config) -> str | None:
    if not config:
        return "it is not configured"
    if config.get("regex", "").lower() != "true":
        return None
    return pattern_problem(config.get(_EXPECTED, ""))


def _limits_problem(config: Config) -> str | None:
    limits = (config.get(name, "0") for name in ("userRealmLimit", "userClientLimit"))
    if not config or not all(_WHOLE_NUMBER.fullmatch(limit) for limit in limits):
        return "its limits are not whole numbers"
    return None


AUTHENTICATOR_KINDS: Final = (
    AuthenticatorKind(COOKIE, PasswordGrantPlace.NOWHERE),
    AuthenticatorKind(
        USERNAME_PASSWORD_FORM,
        PasswordGrantPlace.NOWHERE,
        "password",
        names_user=True,
        accepts_passkeys=True,
    ),
    AuthenticatorKind(USERNAME_FORM, PasswordGrantPlace.NOWHERE, accepts_passkeys=True),
    AuthenticatorKind(PASSWORD_FORM, PasswordGrantPlace.NOWHERE, "password", accepts_passkeys=True),
    AuthenticatorKind(CODE_FORM, PasswordGrantPlace.NOWHERE, "otp", "CONFIGURE_TOTP"),
    AuthenticatorKind(
        RECOVERY_CODE_FORM,
        PasswordGrantPlace.NOWHERE,
        "recovery-authn-codes",
        "CONFIGURE_RECOVERY_AUTHN_CODES",
    ),
    AuthenticatorKind(
        SECURITY_KEY_FORM, PasswordGrantPlace.NOWHERE, "webauthn", "webauthn-register"
    ),
    AuthenticatorKind(
        PASSKEY_FORM,
        PasswordGrantPlace.NOWHERE,
        "webauthn-passwordless",
        "webauthn-register-passwordless",
        names_user=True,
    ),
    AuthenticatorKind(USERNAME, PasswordGrantPlace.FIRST),
    AuthenticatorKind(PASSWORD, PasswordGrantPlace.FIRST, "password"),
    AuthenticatorKind(CERTIFICATE, PasswordGrantPlace.FIRST, problem=certificate_problem),
    AuthenticatorKind(CERTIFICATE_FORM, PasswordGrantPlace.NOWHERE, problem=certificate_problem),
    AuthenticatorKind(CODE, PasswordGrantPlace.LATER, "otp"),
    AuthenticatorKind(ALLOW, PasswordGrantPlace.LATER),
    AuthenticatorKind(REGISTRATION_FORM, PasswordGrantPlace.NOWHERE),
    AuthenticatorKind(RESET_CHOOSE_USER, PasswordGrantPlace.NOWHERE),
    AuthenticatorKind(RESET_EMAIL, PasswordGrantPlace.NOWHERE),
    AuthenticatorKind(RESET_PASSWORD, PasswordGrantPlace.NOWHERE),
    AuthenticatorKind(RESET_OTP, PasswordGrantPlace.NOWHERE, required_action="CONFIGURE_TOTP"),
    AuthenticatorKind(DENY, PasswordGrantPlace.LATER),
    AuthenticatorKind(SESSION_LIMITS, PasswordGrantPlace.LATER, problem=_limits_problem),
    AuthenticatorKind(USER_CONFIGURED, PasswordGrantPlace.CONDITION),
    AuthenticatorKind(USER_ROLE, PasswordGrantPlace.CONDITION),
    AuthenticatorKind(USER_ATTRIBUTE, PasswordGrantPlace.CONDITION, problem=_attribute_problem),
    AuthenticatorKind(CLIENT_SCOPE, PasswordGrantPlace.CONDITION),
    AuthenticatorKind(SUB_FLOW_EXECUTED, PasswordGrantPlace.CONDITION),
    AuthenticatorKind(CREDENTIAL_USED, PasswordGrantPlace.CONDITION),
    AuthenticatorKind(LEVEL, PasswordGrantPlace.NOWHERE),
)
KIND_OF: Final[Mapping[str, AuthenticatorKind]] = {kind.id: kind for kind in AUTHENTICATOR_KINDS}
CREDENTIAL_OF_ACTION: Final[Mapping[str, str]] = {
    "UPDATE_PASSWORD": "password",
    **{
        kind.required_action: kind.credential
        for kind in AUTHENTICATOR_KINDS
        if kind.required_action is not None and kind.credential is not None
    },
}
"""Required action -> the type of the credential that it sets up."""
ACTING: Final = frozenset(KIND_OF)
"""The authenticators and conditions that act."""
UNAVAILABLE_CREDENTIALS: Final[Mapping[str, str]] = {
    "auth-conditional-otp-form": "otp",
}
"""Types of credentials of authenticators that do not act: a user with one has set them up."""
NEVER_SET_UP: Final = frozenset({"organization"})
"""Authenticators of features that are off: no user has set them up."""


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
    """A step of a flow: `authenticator`, or the sub-flow `flow`; a form is both."""

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
        """The executions that take part, without conditions: alternatives if none is required."""
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

    def find_flow(self, flow_id: str | None) -> Flow | None:
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


_DEEPEST: Final = 10
"""How many sub-flows may contain one another."""
_MOST_STEPS: Final = 1000
_VERSION_BYTES: Final = 9


@dataclass(frozen=True, slots=True)
class FlowStep:
    """An enabled execution: an authenticator with its configuration, or a sub-flow."""

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

    `steps` are all REQUIRED or CONDITIONAL, or all ALTERNATIVE. A CONDITIONAL flow runs where its
    `conditions` are met.
    """

    alias: str
    conditions: tuple[FlowStep, ...] = ()
    steps: tuple[FlowStep, ...] = ()
    id: str = field(default="", compare=False)
    version: str = field(default="", compare=False)
    """12 characters that change with the executions, their requirements and configurations."""
    has_alternatives: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        alternatives = bool(self.steps) and self.steps[0].requirement is Requirement.ALTERNATIVE
        object.__setattr__(self, "has_alternatives", alternatives)

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
        part = self._flows.find_flow(execution.flow)
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
        form = self._flows.find_flow(execution.flow)
        actions = () if form is None else tuple(map(self._authenticator, form.effective))
        return FlowStep(execution.requirement, name, config, actions=actions, id=execution.id)
