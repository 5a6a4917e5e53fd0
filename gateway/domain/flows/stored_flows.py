"""The flows of a new realm, and the documents beside a realm that hold changed flows and actions.

Only what differs from a new realm is stored: a flow under its id, an action under its alias. The
ids of a new realm's flows are made of the realm's, so that they are the same at every gateway and
at every time. Keycloak: 26.7, a new realm
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid5

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
from gateway.domain.tables import read_table

_NAMESPACE: Final = UUID("5f0f9c0e-6f6b-4a52-9b5c-1b6d7c6e2f10")
_FLOWS: Final = read_table("gateway.domain.flows", "default_flows.toml")["flows"]
_STEPS: Final = tuple(step for flow in _FLOWS for step in flow["steps"])
_SUB_FLOWS: Final = frozenset(step.get("flow") for step in _STEPS)


@cached(4 * 1024 * 1024)
def default_flows(realm_id: str) -> Mapping[str, Flow]:
    """Return the flows of a new realm by id, sub-flows after what they are a part of."""
    flows = (
        Flow(
            id=default_id(realm_id, "flow", flow["alias"]),
            alias=flow["alias"],
            kind=FlowKind(flow["kind"]),
            description=flow.get("description"),
            top_level=flow["alias"] not in _SUB_FLOWS,
            built_in=True,
            executions=tuple(_execution(realm_id, flow["alias"], step) for step in flow["steps"]),
        )
        for flow in _FLOWS
    )
    return {flow.id: flow for flow in flows}


@cached(4 * 1024 * 1024)
def default_configs(realm_id: str) -> Mapping[str, AuthenticatorConfig]:
    """Return the configurations of a new realm by id."""
    found = (
        AuthenticatorConfig(
            default_id(realm_id, "config", step["config"]),
            step["config"],
            tuple(step["settings"].items()),
        )
        for step in _STEPS
        if "config" in step
    )
    return {config.id: config for config in found}


def default_id(realm_id: str, kind: str, name: str) -> str:
    """Return the id of what a realm is created with."""
    return str(uuid5(_NAMESPACE, f"{kind}\n{realm_id}\n{name}"))


def _execution(realm_id: str, parent: str, step: Mapping[str, Any]) -> Execution:
    flow, config, authenticator = (step.get(name) for name in ("flow", "config", "authenticator"))
    return Execution(
        id=default_id(realm_id, "execution", f"{parent}\n{flow or authenticator}"),
        requirement=Requirement(step["requirement"]),
        priority=step["priority"],
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
