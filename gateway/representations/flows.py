"""Flows, executions and required actions: Keycloak's JSON to values and back.

Names of authenticators are Keycloak's, for clients find an execution by them.
Keycloak: AuthenticationFlowRepresentation, AuthenticationExecutionInfoRepresentation,
AuthenticationExecutionRepresentation, AuthenticatorConfigRepresentation,
RequiredActionProviderRepresentation: strict decoders; defaults of required actions of 26.7;
authenticator-providers, client-authenticator-providers, form-action-providers, 15 (password grant
flow)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.errors import FieldError
from gateway.domain.flows import (
    ACTING,
    DEFAULT_ACTIONS,
    FORM_ACTIONS,
    AuthenticatorConfig,
    Execution,
    Flow,
    FlowKind,
    Flows,
    RequiredAction,
    Requirement,
)
from gateway.domain.random_values import uuid4
from gateway.domain.tables import build_value, read_table
from gateway.representations.components import Property
from gateway.representations.field_table import parse_strictly, without_none
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

_TABLE: Final = read_table("gateway.representations", "authenticators.toml")
_PROPERTIES: Final[Mapping[str, tuple[Property, ...]]] = build_value(
    Mapping[str, tuple[Property, ...]], _TABLE["properties"]
)
SECRETS: Final = frozenset(
    each.name for properties in _PROPERTIES.values() for each in properties if each.secret
)
"""Secrets of services that this version does not use: they are not stored."""


_REQUIRED, _ALTERNATIVE = Requirement.REQUIRED, Requirement.ALTERNATIVE
_DISABLED, _CONDITIONAL = Requirement.DISABLED, Requirement.CONDITIONAL
_EITHER: Final = (_REQUIRED, _DISABLED)
_USUAL: Final = (_REQUIRED, _ALTERNATIVE, _DISABLED)
SUB_FLOW_CHOICES: Final[Mapping[FlowKind, tuple[Requirement, ...]]] = {
    FlowKind.BASIC: (*_USUAL, _CONDITIONAL),
    FlowKind.CLIENT: _USUAL,
    FlowKind.FORM: _EITHER,
}


UNAVAILABLE: Final = (
    "cannot act yet: a sign-in passes it over, and fails where it is required; a flow of the"
    " password grant with it is refused"
)
"""What becomes of an authenticator of users that does not act."""


class AuthenticatorRole(StrEnum):
    """In which kind of flow an authenticator has its place."""

    USER = "user"
    CLIENT = "client"
    FORM = "form"
    FORM_ACTION = "form action"


@dataclass(frozen=True, slots=True)
class AuthenticatorDescription:
    """An authenticator; `help` describes it in a sentence."""

    id: str
    name: str
    help: str
    choices: tuple[Requirement, ...]
    properties: tuple[Property, ...]
    role: AuthenticatorRole

    @property
    def acts(self) -> bool:
        """Tell whether it acts in a sign-in of this version."""
        return self.id in ACTING or self.id in FORM_ACTIONS

    def listed(self) -> dict[str, Any]:
        members = {"displayName": self.name, "description": self.help, "id": self.id}
        if self.role is AuthenticatorRole.CLIENT:
            return {"supportsSecret": self.id in WITH_SECRET, **members}
        return members

    def described(self) -> dict[str, Any]:
        """Return the settings. Keycloak: AuthenticatorConfigInfoRepresentation."""
        return {
            "name": self.name,
            "providerId": self.id,
            "helpText": self.help,
            "properties": [each.document() for each in self.properties],
        }


_CHOICES: Final[Mapping[str, tuple[Requirement, ...]]] = {
    "usual": _USUAL,
    "either": _EITHER,
    "always": (_REQUIRED,),
    "any": (_REQUIRED, _ALTERNATIVE, _CONDITIONAL, _DISABLED),
}


def _authenticators() -> Iterator[AuthenticatorDescription]:
    for row in _TABLE["authenticators"]:
        name, role = row["id"], AuthenticatorRole(row["role"])
        properties = _PROPERTIES.get(row.get("properties", name), ())
        choices = _CHOICES[row["choices"]]
        yield AuthenticatorDescription(name, row["name"], row["help"], choices, properties, role)
    for each in CLIENT_AUTHENTICATORS:
        yield AuthenticatorDescription(
            each.id, each.name, each.help, _USUAL, (), AuthenticatorRole.CLIENT
        )


AUTHENTICATORS: Final = {each.id: each for each in _authenticators()}
"""All of them, by id."""
ROLES: Final[Mapping[FlowKind, AuthenticatorRole]] = {
    FlowKind.BASIC: AuthenticatorRole.USER,
    FlowKind.CLIENT: AuthenticatorRole.CLIENT,
    FlowKind.FORM: AuthenticatorRole.FORM_ACTION,
}
"""Which authenticators have their place in a flow."""


def of_role(role: AuthenticatorRole) -> tuple[AuthenticatorDescription, ...]:
    """Return the authenticators of a role."""
    return tuple(each for each in AUTHENTICATORS.values() if each.role is role)


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
"""The members of an execution in a list; some of them may be changed."""
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
    """A flow as sent; None is an omitted member."""

    id: str | None
    alias: str | None
    description: str | None
    kind: FlowKind | None
    top_level: bool | None
    built_in: bool | None
    executions: list[Any] | None


@dataclass(frozen=True, slots=True)
class ExecutionChange:
    """A change of an execution; `name` and `description` are of its sub-flow."""

    id: str | None
    requirement: Requirement | None
    priority: int | None
    name: str | None
    description: str | None
    names_part: bool = False
    """Whether it says that the execution is, or is not, a flow."""


@dataclass(frozen=True, slots=True)
class ExecutionDraft:
    """A new execution as sent; with `is_flow`, `flow` is the id of its sub-flow."""

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
    """Return the change of an execution; raises InvalidInput."""
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
    """Return the configuration under that id, the sent id or a new one.

    Raises InvalidInput.
    """
    values = parse_strictly(document, CONFIG_FIELDS, "AuthenticatorConfigRepresentation")
    return AuthenticatorConfig(
        config_id or values.get("id") or str(uuid4()),
        values.get("alias"),
        known_settings({n: text for n, text in values.get("config", {}).items() if text}),
    )


def known_settings(config: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the stored settings: no empty texts, no secrets of other services."""
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

    Settings that the authenticator does not describe are masked, for they may be secrets; None
    masks nothing.
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


_ACTION_SETTINGS: Final[Mapping[str, Property]] = {
    each.name: each
    for each in build_value(tuple[Property, ...], _TABLE["required_actions"]["settings"])
}
_MAXIMUM_AGE: Final = "max_auth_age"
"""The setting of every required action."""

ACTION_NAMES: Final[Mapping[str, str]] = {
    each.provider: each.name or each.alias for each in DEFAULT_ACTIONS
}
"""The actions that can be registered, and their names."""
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
    """Return whether the action has settings."""
    return provider in ACTION_NAMES and provider not in _NOT_CONFIGURABLE


def parse_action(document: Mapping[str, Any], before: RequiredAction) -> RequiredAction:
    """Return the changed action: an absent member is off, zero or none.

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
        each.name: str(each.parse_value((config[each.name],)))
        for each in _ACTION_SETTINGS.values()
        if config.get(each.name)
    }
    return {**config, **checked}


def settings_of(alias: str) -> tuple[Property, ...]:
    """Return the settings of an action."""
    own = _TABLE["required_actions"]["settings_of"].get(alias, ())
    return tuple(_ACTION_SETTINGS[name] for name in (*own, _MAXIMUM_AGE))


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
