"""Flows, executions and required actions: Keycloak's JSON to values and back.

Keycloak: AuthenticationFlowRepresentation, AuthenticationExecutionInfoRepresentation,
AuthenticationExecutionRepresentation, AuthenticatorConfigRepresentation,
RequiredActionProviderRepresentation: strict decoders; defaults of required actions of 26.7
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.flows import (
    CONFIGURE_RECOVERY_CODES,
    DEFAULT_ACTIONS,
    UPDATE_EMAIL,
    VERIFY_EMAIL,
    AuthenticatorConfig,
    Execution,
    Flow,
    FlowKind,
    Flows,
    RequiredAction,
    Requirement,
)
from gateway.domain.random_values import uuid4
from gateway.representations.components import Property, SettingKind
from gateway.representations.field_table import parse_strictly, without_none
from gateway.representations.flows.authenticators import AUTHENTICATORS, SECRETS, SUB_FLOW_CHOICES
from gateway.representations.refusals import attempt, raise_all
from gateway.representations.shapes import (
    MASK,
    MAX_INTEGER,
    Choice,
    Count,
    Flag,
    ObjectId,
    Shape,
    Text,
    TextMap,
    VerbatimList,
)

_TEXT: Final = Text(most=255)
_LONG: Final = Text(most=2000)
PRIORITY: Final = Count(least=-MAX_INTEGER)
"""The place of an execution; negative ones are first."""
FLOW_FIELDS: Final[Mapping[str, Shape]] = {
    "id": ObjectId(),
    "alias": _TEXT,
    "description": _LONG,
    "providerId": Choice(FlowKind),
    "topLevel": Flag(),
    "builtIn": Flag(),
    "authenticationExecutions": VerbatimList(),
}
EXECUTION_CHANGE_FIELDS: Final[Mapping[str, Shape]] = {
    "id": _TEXT,
    "requirement": Choice(Requirement),
    "priority": PRIORITY,
    "displayName": _TEXT,
    "description": _LONG,
    "authenticationFlow": Flag(),
    **dict.fromkeys(("alias", "providerId", "authenticationConfig", "flowId"), _TEXT),
    **dict.fromkeys(("level", "index"), Count()),
    "configurable": Flag(),
    "requirementChoices": VerbatimList(),
}
"""What an execution is shown with; a part of it may be changed."""
EXECUTION_FIELDS: Final[Mapping[str, Shape]] = {
    "id": ObjectId(),
    "authenticator": _TEXT,
    "requirement": Choice(Requirement),
    "priority": PRIORITY,
    "parentFlow": _TEXT,
    "flowId": ObjectId(),
    "authenticatorConfig": _TEXT,
    **dict.fromkeys(("authenticatorFlow", "autheticatorFlow"), Flag()),
}
CONFIG_FIELDS: Final[Mapping[str, Shape]] = {
    "id": ObjectId(),
    "alias": _TEXT,
    "config": TextMap(longest=4000),
}
_LONGEST_NAMES: Final = 20


@dataclass(frozen=True, slots=True)
class FlowDraft:
    """What was sent of a flow; None is what was not."""

    id: str | None
    alias: str | None
    description: str | None
    kind: FlowKind | None
    top_level: bool | None
    built_in: bool | None
    executions: list[Any] | None


@dataclass(frozen=True, slots=True)
class ExecutionChange:
    """What was sent of an execution; `name` and `description` are those of its flow."""

    id: str | None
    requirement: Requirement | None
    priority: int | None
    name: str | None
    description: str | None
    names_part: bool = False
    """Whether it says that the execution is, or is not, a flow."""


@dataclass(frozen=True, slots=True)
class ExecutionDraft:
    """What was sent of a new execution; `flow` is the id of the sub-flow of one that `is_flow`."""

    id: str | None
    authenticator: str | None
    requirement: Requirement
    priority: int | None
    parent: str | None
    flow: str | None
    is_flow: bool


def parse_flow(document: Mapping[str, Any]) -> FlowDraft:
    """Return what was sent; raises InvalidInput."""
    values = parse_strictly(document, FLOW_FIELDS, "AuthenticationFlowRepresentation")
    return FlowDraft(*(values.get(name) for name in FLOW_FIELDS))


def parse_change(document: Mapping[str, Any]) -> ExecutionChange:
    """Return what is to become of an execution; raises InvalidInput."""
    values = parse_strictly(
        document, EXECUTION_CHANGE_FIELDS, "AuthenticationExecutionInfoRepresentation"
    )
    of_flow = values.get("authenticationFlow")
    return ExecutionChange(
        values.get("id"),
        values.get("requirement"),
        values.get("priority"),
        values.get("displayName") if of_flow else None,
        values.get("description") if of_flow else None,
        of_flow is not None,
    )


def parse_execution(document: Mapping[str, Any]) -> ExecutionDraft:
    """Return what was sent; raises InvalidInput."""
    values = parse_strictly(document, EXECUTION_FIELDS, "AuthenticationExecutionRepresentation")
    return ExecutionDraft(
        values.get("id"),
        values.get("authenticator"),
        values.get("requirement", Requirement.DISABLED),
        values.get("priority"),
        values.get("parentFlow"),
        values.get("flowId"),
        bool(values.get("authenticatorFlow") or values.get("autheticatorFlow")),
    )


def parse_config(document: Mapping[str, Any], config_id: str | None = None) -> AuthenticatorConfig:
    """Return what was sent, under that id, the one that was sent or a new one.

    Raises InvalidInput.
    """
    values = parse_strictly(document, CONFIG_FIELDS, "AuthenticatorConfigRepresentation")
    return AuthenticatorConfig(
        config_id or values.get("id") or str(uuid4()),
        values.get("alias"),
        known_settings({n: text for n, text in values.get("config", {}).items() if text}),
    )


def known_settings(config: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what is kept of a configuration: no empty texts, no secrets of other services."""
    return tuple((name, value) for name, value in config.items() if value and name not in SECRETS)


def unmasked(
    config: AuthenticatorConfig, before: AuthenticatorConfig | None
) -> AuthenticatorConfig:
    """Return the configuration with the values of before that were sent back as a mask."""
    known = {} if before is None else dict(before.config)
    values = ((name, known.get(name, "") if text == MASK else text) for name, text in config.config)
    return replace(config, config=tuple((name, value) for name, value in values if value))


def parse_names(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts of a small object by name; raises InvalidInput.

    Keycloak takes any object here: a copy, a new execution, an action to be registered.
    """
    errors: list[FieldError] = []
    given: dict[str, Any] = {
        name: attempt(errors, None, _LONG.read, value, name)
        for name, value in [*document.items()][:_LONGEST_NAMES]
        if isinstance(value, str)
    }
    if document.get("priority") is not None:
        given["priority"] = attempt(errors, None, PRIORITY.read, document["priority"], "priority")
    raise_all(errors)
    return given


def render_flow(flows: Flows, flow: Flow, configs: Mapping[str, AuthenticatorConfig]) -> Any:
    """Return the JSON object."""
    described = {} if flow.description is None else {"description": flow.description}
    return {
        "id": flow.id,
        "alias": flow.alias,
        **described,
        "providerId": flow.kind.value,
        "topLevel": flow.top_level,
        "builtIn": flow.built_in,
        "authenticationExecutions": [
            without_none(
                {
                    "authenticatorConfig": _alias(configs.get(each.config or "")),
                    **_step(each),
                    "flowAlias": _alias(flows.find_flow(each.flow)),
                    "userSetupAllowed": False,
                }
            )
            for each in flow.executions
        ],
    }


def render_config(config: AuthenticatorConfig, authenticator: str | None = None) -> dict[str, Any]:
    """Return the JSON object.

    What is no property of the authenticator is masked, for it may be a secret; None masks nothing.
    """
    known = AUTHENTICATORS.get(authenticator or "")
    names = {each.name for each in known.properties} if known is not None else set()
    values = {
        name: value if authenticator is None or name in names else MASK
        for name, value in config.config
    }
    return without_none({"id": config.id, "alias": config.alias, "config": values})


def render_execution(parent: Flow, execution: Execution) -> dict[str, Any]:
    """Return the JSON object of an execution by itself."""
    return without_none(
        {
            "authenticatorConfig": execution.config,
            **_step(execution),
            "id": execution.id,
            "flowId": execution.flow,
            "parentFlow": parent.id,
        }
    )


def render_executions(
    flows: Flows, flow: Flow, configs: Mapping[str, AuthenticatorConfig]
) -> list[dict[str, Any]]:
    """Return all executions of a flow, those of its parts after each."""
    return [without_none(each) for each in _walk(flows, flow, configs, 0)]


def _walk(
    flows: Flows, flow: Flow, configs: Mapping[str, AuthenticatorConfig], level: int
) -> Iterator[dict[str, Any]]:
    for index, execution in enumerate(flow.executions):
        part = flows.find_flow(execution.flow)
        place = {"level": level, "index": index, "priority": execution.priority}
        own = _of_authenticator(execution, configs) if part is None else _of_part(execution, part)
        yield {"id": execution.id, "requirement": execution.requirement.value, **own, **place}
        if part is not None:
            yield from _walk(flows, part, configs, level + 1)


def _of_authenticator(
    execution: Execution, configs: Mapping[str, AuthenticatorConfig]
) -> dict[str, Any]:
    known = AUTHENTICATORS.get(execution.authenticator or "")
    return {
        "displayName": execution.authenticator if known is None else known.name,
        "alias": _alias(configs.get(execution.config or "")),
        "requirementChoices": [] if known is None else [each.value for each in known.choices],
        "configurable": known is not None and bool(known.properties),
        "providerId": execution.authenticator,
        "authenticationConfig": execution.config,
    }


def _of_part(execution: Execution, part: Flow) -> dict[str, Any]:
    return {
        "displayName": part.alias,
        "description": part.description,
        "requirementChoices": [each.value for each in SUB_FLOW_CHOICES[part.kind]],
        "configurable": False,
        "authenticationFlow": True,
        "providerId": execution.authenticator,
        "flowId": part.id,
    }


def _step(execution: Execution) -> dict[str, Any]:
    is_flow = execution.flow is not None
    return {
        "authenticator": execution.authenticator,
        "authenticatorFlow": is_flow,
        "requirement": execution.requirement.value,
        "priority": execution.priority,
        "autheticatorFlow": is_flow,  # Keycloak's misspelling
    }


def _alias(named: AuthenticatorConfig | Flow | None) -> str | None:
    return None if named is None else named.alias


MAXIMUM_AGE: Final = Property(
    "max_auth_age",
    "Maximum Age of Authentication",
    "For how many seconds after a sign-in a user may do this without another one",
    SettingKind.NUMBER,
    "300",
)
"""The one setting that every required action has."""
WARNING_THRESHOLD: Final = Property(
    "warning_threshold",
    "Warning Threshold",
    "A user who has fewer recovery codes left has to generate new ones",
    SettingKind.NUMBER,
    "4",
)
"""The setting of CONFIGURE_RECOVERY_AUTHN_CODES."""
RESEND_PAUSE: Final = Property(
    "emailResendCooldownSeconds",
    "Cooldown Between Email Resend (seconds)",
    "For how many seconds after a mail a user cannot ask for another one",
    SettingKind.NUMBER,
    "30",
)
"""The setting of the actions that send mails."""
VERIFY_NEW_EMAIL: Final = Property(
    "verifyEmail",
    "Force Email Verification",
    "A new address is confirmed by a mail, even if the realm does not verify addresses",
    SettingKind.FLAG,
    "false",
    as_boolean=True,
)
"""The setting of UPDATE_EMAIL."""

ACTION_NAMES: Final[Mapping[str, str]] = {
    each.provider: each.name or each.alias for each in DEFAULT_ACTIONS
}
"""What there is to be registered, and its name."""
_OWN_SETTINGS: Final[Mapping[str, tuple[Property, ...]]] = {
    CONFIGURE_RECOVERY_CODES: (WARNING_THRESHOLD,),
    VERIFY_EMAIL: (RESEND_PAUSE,),
    UPDATE_EMAIL: (VERIFY_NEW_EMAIL, RESEND_PAUSE),
}
_NOT_CONFIGURABLE: Final = frozenset({"delete_account"})

ACTION_FIELDS: Final[Mapping[str, Shape]] = {
    "alias": ObjectId(),
    "name": Text(most=255),
    "providerId": Text(most=255),
    "enabled": Flag(),
    "defaultAction": Flag(),
    "priority": Count(),
    "config": TextMap(longest=1000),
}


def is_configurable(provider: str) -> bool:
    """Tell whether anything is to be set of the action."""
    return provider in ACTION_NAMES and provider not in _NOT_CONFIGURABLE


def parse_action(document: Mapping[str, Any], before: RequiredAction) -> RequiredAction:
    """Return the action as it is to be: what is absent is off, zero or none.

    The alias stays where none is sent, for it is the address of the action. Raises InvalidInput.
    """
    values = parse_strictly(document, ACTION_FIELDS, "RequiredActionProviderRepresentation")
    return replace(
        before,
        alias=values.get("alias", before.alias),
        name=values.get("name"),
        enabled=values.get("enabled", False),
        is_default=values.get("defaultAction", False),
        priority=values.get("priority", 0),
        config=known_config(values.get("config", {})),
    )


def known_config(config: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration; raises UnusableSetting for a setting that is no number.

    Keycloak stores other settings as well, although no action describes them.
    """
    checked = {
        each.name: str(each.read((config[each.name],)))
        for each in (MAXIMUM_AGE, WARNING_THRESHOLD, RESEND_PAUSE, VERIFY_NEW_EMAIL)
        if config.get(each.name)
    }
    return {**config, **checked}


def settings_of(alias: str) -> tuple[Property, ...]:
    """Return the settings of an action."""
    return (*_OWN_SETTINGS.get(alias, ()), MAXIMUM_AGE)


def render_action(action: RequiredAction) -> dict[str, Any]:
    """Return the JSON object."""
    named = {} if action.name is None else {"name": action.name}
    return {
        "alias": action.alias,
        **named,
        "providerId": action.provider,
        "enabled": action.enabled,
        "defaultAction": action.is_default,
        "priority": action.priority,
        "config": dict(action.config),
    }
