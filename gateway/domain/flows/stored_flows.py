"""The flows of a new realm, and the documents beside a realm that hold changed flows and actions.

Only what differs from a new realm is stored: a flow under its id, an action under its alias. The
ids of a new realm's flows are made of the realm's, so that they are the same at every gateway and
at every time. Keycloak: 26.7, a new realm
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID, uuid5

from gateway.domain.clients import CLIENT_AUTHENTICATORS
from gateway.domain.flows.flows import (
    AuthenticatorConfig,
    Execution,
    Flow,
    FlowKind,
    Flows,
    Requirement,
)
from gateway.domain.flows.sign_in import (
    CONFIGURE_RECOVERY_CODES,
    REQUIRED_ACTIONS,
    RequiredAction,
    SignInRules,
    sign_in_rules,
)
from gateway.domain.limits.caches import cached
from gateway.domain.realm import FlowBindings

_NAMESPACE: Final = UUID("5f0f9c0e-6f6b-4a52-9b5c-1b6d7c6e2f10")
_CLIENT_STEPS: Final = "\n".join(
    f"{10 * place} ALTERNATIVE {each.id}" for place, each in enumerate(CLIENT_AUTHENTICATORS, 1)
)
_TABLE: Final = f"""
browser | basic-flow | Browser based authentication
10 ALTERNATIVE auth-cookie
20 DISABLED auth-spnego
25 ALTERNATIVE identity-provider-redirector
26 ALTERNATIVE > Organization
30 ALTERNATIVE > forms

Organization | basic-flow |
10 CONDITIONAL > Browser - Conditional Organization

Browser - Conditional Organization | basic-flow | Flow to determine if the organization \
identity-first login is to be used
10 REQUIRED conditional-user-configured
20 ALTERNATIVE organization

forms | basic-flow | Username, password, otp and other auth forms.
10 REQUIRED auth-username-password-form
20 CONDITIONAL > Browser - Conditional 2FA

Browser - Conditional 2FA | basic-flow | Flow to determine if any 2FA is required for the \
authentication
10 REQUIRED conditional-user-configured
20 REQUIRED conditional-credential [browser-conditional-credential: \
credentials=webauthn-passwordless]
30 ALTERNATIVE auth-otp-form
40 DISABLED webauthn-authenticator
50 DISABLED auth-recovery-authn-code-form

direct grant | basic-flow | OpenID Connect Resource Owner Grant
10 REQUIRED direct-grant-validate-username
20 REQUIRED direct-grant-validate-password
30 CONDITIONAL > Direct Grant - Conditional OTP

Direct Grant - Conditional OTP | basic-flow | Flow to determine if the OTP is required for the \
authentication
10 REQUIRED conditional-user-configured
20 REQUIRED direct-grant-validate-otp

registration | basic-flow | Registration flow
10 REQUIRED registration-page-form > registration form

registration form | form-flow | Registration form
20 REQUIRED registration-user-creation
50 REQUIRED registration-password-action
60 DISABLED registration-recaptcha-action
70 DISABLED registration-terms-and-conditions

reset credentials | basic-flow | Reset credentials for a user if they forgot their password or \
something
10 REQUIRED reset-credentials-choose-user
20 REQUIRED reset-credential-email
30 REQUIRED reset-password
40 CONDITIONAL > Reset - Conditional OTP

Reset - Conditional OTP | basic-flow | Flow to determine if the OTP should be reset or not. \
Set to REQUIRED to force.
10 REQUIRED conditional-user-configured
20 REQUIRED reset-otp

clients | client-flow | Base authentication for clients
{_CLIENT_STEPS}

first broker login | basic-flow | Actions taken after first broker login with identity provider \
account, which is not yet linked to any Keycloak account
10 REQUIRED idp-review-profile [review profile config: update.profile.on.first.login=missing]
20 REQUIRED > User creation or linking
60 CONDITIONAL > First Broker Login - Conditional Organization

User creation or linking | basic-flow | Flow for the existing/non-existing user alternatives
10 ALTERNATIVE idp-create-user-if-unique [create unique user config: \
require.password.update.after.registration=false]
20 ALTERNATIVE > Handle Existing Account

Handle Existing Account | basic-flow | Handle what to do if there is existing account with same \
email/username like authenticated identity provider
10 REQUIRED idp-confirm-link
20 REQUIRED > Account verification options

Account verification options | basic-flow | Method with which to verify the existing account
10 ALTERNATIVE idp-email-verification
20 ALTERNATIVE > Verify Existing Account by Re-authentication

Verify Existing Account by Re-authentication | basic-flow | Reauthentication of existing account
10 REQUIRED idp-username-password-form
20 CONDITIONAL > First broker login - Conditional 2FA

First broker login - Conditional 2FA | basic-flow | Flow to determine if any 2FA is required for \
the authentication
10 REQUIRED conditional-user-configured
20 REQUIRED conditional-credential [first-broker-login-conditional-credential: \
credentials=webauthn-passwordless]
30 ALTERNATIVE auth-otp-form
40 DISABLED webauthn-authenticator
50 DISABLED auth-recovery-authn-code-form

First Broker Login - Conditional Organization | basic-flow | Flow to determine if the \
authenticator that adds organization members is to be used
10 REQUIRED conditional-user-configured
20 REQUIRED idp-add-organization-member

saml ecp | basic-flow | SAML ECP Profile Authentication Flow
10 REQUIRED http-basic-authenticator

docker auth | basic-flow | Used by Docker clients to authenticate against the IDP
10 REQUIRED docker-http-basic-authenticator
"""
"""A flow: alias, kind, description; then its steps: priority, requirement, the authenticator, `>`
the flow that the step runs, and in brackets alias, name and value of its configuration. A sub-flow
follows the flow that runs it."""
_STEP: Final = re.compile(
    r"(?P<priority>\d+) (?P<requirement>[A-Z]+)(?: (?P<authenticator>[a-z0-9-]+))?"
    r"(?: > (?P<flow>.+))?(?: \[(?P<config>.+): (?P<name>.+)=(?P<value>.+)\])?"
)
_Steps = list[dict[str, str | None]]


def _rows() -> Iterator[tuple[str, str, str, _Steps]]:
    for block in _TABLE.strip().split("\n\n"):
        head, *lines = block.split("\n")
        alias, kind, description = (part.strip() for part in head.split("|"))
        found = (_STEP.fullmatch(line) for line in lines)
        yield alias, kind, description, [step.groupdict() for step in found if step]


_FLOWS: Final = tuple(_rows())
_SUB_FLOWS: Final = frozenset(step["flow"] for *_, steps in _FLOWS for step in steps)


@cached(4 * 1024 * 1024)
def default_flows(realm_id: str) -> Mapping[str, Flow]:
    """Return the flows of a new realm by id, sub-flows after what they are a part of."""
    flows = (
        Flow(
            id=default_id(realm_id, "flow", alias),
            alias=alias,
            kind=FlowKind(kind),
            description=description or None,
            top_level=alias not in _SUB_FLOWS,
            built_in=True,
            executions=tuple(_execution(realm_id, alias, **step) for step in steps),
        )
        for alias, kind, description, steps in _FLOWS
    )
    return {flow.id: flow for flow in flows}


@cached(4 * 1024 * 1024)
def default_configs(realm_id: str) -> Mapping[str, AuthenticatorConfig]:
    """Return the configurations of a new realm by id."""
    settings = (
        (str(step["config"]), (str(step["name"]), str(step["value"])))
        for *_, steps in _FLOWS
        for step in steps
        if step["config"]
    )
    found = (
        AuthenticatorConfig(default_id(realm_id, "config", alias), alias, (setting,))
        for alias, setting in settings
    )
    return {config.id: config for config in found}


def default_id(realm_id: str, kind: str, name: str) -> str:
    """Return the id of what a realm is created with."""
    return str(uuid5(_NAMESPACE, f"{kind}\n{realm_id}\n{name}"))


def _execution(realm_id: str, parent: str, **step: str | None) -> Execution:
    flow, config, authenticator = step["flow"], step["config"], step["authenticator"]
    return Execution(
        id=default_id(realm_id, "execution", f"{parent}\n{flow or authenticator}"),
        requirement=Requirement(str(step["requirement"])),
        priority=int(step["priority"] or 0),
        authenticator=authenticator,
        flow=flow and default_id(realm_id, "flow", flow),
        config=config and default_id(realm_id, "config", config),
    )


DEFAULT_ACTIONS: Final = tuple(
    RequiredAction(alias, name, alias, enabled=enabled, priority=priority)
    for alias, name, enabled, priority in (
        ("TERMS_AND_CONDITIONS", "Terms and Conditions", False, 20),
        ("UPDATE_PROFILE", "Update Profile", True, 40),
        ("VERIFY_EMAIL", "Verify Email", True, 50),
        ("CONFIGURE_TOTP", "Configure OTP", True, 54),
        ("UPDATE_PASSWORD", "Update Password", True, 57),
        ("delete_account", "Delete Account", False, 60),
        ("UPDATE_EMAIL", "Update Email", False, 70),
        ("webauthn-register", "Webauthn Register", True, 80),
        ("webauthn-register-passwordless", "Webauthn Register Passwordless", True, 90),
        ("VERIFY_PROFILE", "Verify Profile", True, 100),
        ("delete_credential", "Delete Credential", True, 110),
        ("idp_link", "Linking Identity Provider", True, 120),
        (CONFIGURE_RECOVERY_CODES, "Recovery Authentication Codes", True, 130),
        ("update_user_locale", "Update User Locale", True, 1000),
    )
)

GONE: Final[Mapping[str, Any]] = {"gone": True}
"""What stands for something that a new realm has and this one has not any more."""

_ACTION_FIELDS: Final = {
    **{name: name for name in ("name", "provider", "enabled")},
    "default": "is_default",
    **{name: name for name in ("priority", "config")},
}
_EXECUTION_FIELDS: Final = ("id", "requirement", "priority", "authenticator", "flow", "config")
Documents = Mapping[str, Mapping[str, Any]]


def flow_document(flow: Flow) -> dict[str, Any]:
    """Return what is stored of a flow."""
    return {
        "alias": flow.alias,
        "kind": flow.kind.value,
        "description": flow.description,
        "topLevel": flow.top_level,
        "builtIn": flow.built_in,
        "executions": [_execution_document(each) for each in flow.executions],
    }


def flows_in(realm_id: str, documents: Documents, configs: Documents) -> Flows:
    """Return the flows of a realm: those of a new one, and what is stored."""
    stored = {name: _flow(name, each) for name, each in documents.items() if each != GONE}
    aliases = {flow.alias: flow for flow in stored.values()}
    first = [
        stored.get(name) or aliases.get(flow.alias) or flow
        for name, flow in default_flows(realm_id).items()
        if name in stored or flow.alias in aliases or name not in documents
    ]
    known = {flow.id for flow in first}
    others = sorted(stored.values(), key=lambda flow: flow.alias)
    every = (*first, *(flow for flow in others if flow.id not in known))
    return Flows(every, configs_in(realm_id, configs))


def config_document(config: AuthenticatorConfig) -> dict[str, Any]:
    """Return what is stored of a configuration."""
    return {"alias": config.alias, "config": dict(config.config)}


def configs_in(realm_id: str, documents: Documents) -> dict[str, AuthenticatorConfig]:
    """Return the configurations of a realm by id."""
    stored = {
        name: AuthenticatorConfig(name, document["alias"], tuple(document["config"].items()))
        for name, document in documents.items()
        if document != GONE
    }
    kept = {name: each for name, each in default_configs(realm_id).items() if name not in documents}
    return {**kept, **stored}


def action_document(action: RequiredAction) -> dict[str, Any]:
    """Return what is stored of a required action."""
    values = {name: getattr(action, field) for name, field in _ACTION_FIELDS.items()}
    return values | {"config": dict(action.config)}


def actions_in(documents: Documents) -> tuple[RequiredAction, ...]:
    """Return the required actions of a realm by priority."""
    stored = {
        alias: RequiredAction(
            alias, **{field: document[name] for name, field in _ACTION_FIELDS.items()}
        )
        for alias, document in documents.items()
        if document != GONE
    }
    kept = (each for each in DEFAULT_ACTIONS if each.alias not in documents)
    return tuple(sorted((*kept, *stored.values()), key=lambda one: (one.priority, one.alias)))


def rules_in(
    realm_id: str, bindings: FlowBindings, flows: Documents, configs: Documents, actions: Documents
) -> SignInRules:
    """Return what the stored flows, configurations and actions of a realm come to."""
    return sign_in_rules(
        bindings, flows_in(realm_id, flows, configs), actions_in(actions), REQUIRED_ACTIONS
    )


def _execution_document(execution: Execution) -> dict[str, Any]:
    values = {name: getattr(execution, name) for name in _EXECUTION_FIELDS}
    values["requirement"] = execution.requirement.value
    return {name: value for name, value in values.items() if value is not None}


def _flow(flow_id: str, document: Mapping[str, Any]) -> Flow:
    return Flow(
        id=flow_id,
        alias=document["alias"],
        kind=FlowKind(document["kind"]),
        description=document["description"],
        top_level=document["topLevel"],
        built_in=document["builtIn"],
        executions=tuple(
            Execution(**{**each, "requirement": Requirement(each["requirement"])})
            for each in document["executions"]
        ),
    )
