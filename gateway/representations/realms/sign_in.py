"""The sign-in of a realm in a realm file, and its own texts: flows, steps, required actions.

Steps name their flows and configurations by alias. Unknown required actions, and secrets of
services that no authenticator uses, are not read. Texts are by language, then by key.
Keycloak: RealmRepresentation (authenticationFlows, authenticatorConfig, requiredActions),
localizationTexts
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from gateway.domain.errors import FieldError
from gateway.domain.flows import AuthenticatorConfig, FlowKind, Flows, RequiredAction, Requirement
from gateway.representations.field_table import parse_fields
from gateway.representations.flows import (
    ACTION_NAMES,
    PRIORITY,
    SECRETS,
    known_settings,
    render_action,
    render_config,
    render_flow,
)
from gateway.representations.json_input import check_text
from gateway.representations.refusals import (
    attempt,
    describe_name,
    join,
    parse_each,
    raise_all,
    refused,
    refused_items,
)
from gateway.representations.shapes import Choice, Count, Flag, Shape, Text, TextMap, UrlName

MOST_TEXTS: Final = 5000
"""Of one language."""
MOST_LOCALES: Final = 200
_TEXT: Final = Text(most=10_000)
_LONGEST_KEY: Final = 255
_LOCALE: Final = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,4}")


def is_locale(text: str) -> bool:
    """Tell whether the text names a language. Spec: RFC 5646 §2.1."""
    return _LOCALE.fullmatch(text) is not None


def parse_text(value: Any, key: str, path: str = "") -> str:
    """Return a text; a number or a truth value is written out. Raises InvalidInput."""
    check_text(key, join(path, key))
    if not 0 < len(key) <= _LONGEST_KEY:
        raise refused(join(path, key), key, f"a key of at most {_LONGEST_KEY} characters")
    if isinstance(value, bool | int | float):
        value = str(value).lower()
    return _TEXT.read(value, join(path, key))


def parse_texts(value: Any, path: str) -> dict[str, str]:
    """Return the texts of a language; null is none. Raises InvalidInput."""
    if not isinstance(value, Mapping) or len(value) > MOST_TEXTS:
        raise refused(path, value, f"an object of at most {MOST_TEXTS} texts")
    errors: list[FieldError] = []
    texts = {
        key: attempt(errors, "", parse_text, text, key, path)
        for key, text in value.items()
        if text is not None
    }
    raise_all(errors)
    return texts


def parse_localization(value: Any, path: str) -> dict[str, dict[str, str]]:
    """Return all texts of a realm by language; raises InvalidInput."""
    if not isinstance(value, Mapping) or len(value) > MOST_LOCALES:
        raise refused(path, value, f"an object of at most {MOST_LOCALES} languages")
    errors: list[FieldError] = []
    found: dict[str, dict[str, str]] = {}
    for locale, texts in value.items():
        at = join(path, locale)
        if not is_locale(locale):
            errors.append(FieldError(at, "no language", "a language as in BCP 47"))
        found[locale] = attempt(errors, {}, parse_texts, texts, at)
    raise_all(errors)
    return found


_NAME: Final = Text(least=1, most=255)
_MOST: Final = 300
_FLOW: Final[Mapping[str, Shape]] = {
    "id": UrlName(),
    "alias": _NAME,
    "description": Text(most=2000),
    "providerId": Choice(FlowKind),
    "topLevel": Flag(),
    "builtIn": Flag(),
}
_STEP: Final[Mapping[str, Shape]] = {
    "authenticator": _NAME,
    "authenticatorConfig": _NAME,
    "flowAlias": _NAME,
    "requirement": Choice(Requirement),
    "priority": PRIORITY,
}
_CONFIG: Final[Mapping[str, Shape]] = {
    "id": UrlName(),
    "alias": _NAME,
    "config": TextMap(longest=4000),
}
_ACTION: Final[Mapping[str, Shape]] = {
    "alias": _NAME,
    "name": Text(most=255),
    "providerId": _NAME,
    "enabled": Flag(),
    "defaultAction": Flag(),
    "priority": Count(),
    "config": TextMap(longest=1000),
}
ReadT = TypeVar("ReadT")


@dataclass(frozen=True, slots=True)
class StepInput:
    """A step of a flow; its flow and its settings by alias."""

    requirement: Requirement
    priority: int
    authenticator: str | None
    flow: str | None
    config: str | None


@dataclass(frozen=True, slots=True)
class FlowInput:
    """A flow of a file; `path` is its place."""

    path: str
    alias: str
    id: str | None
    kind: FlowKind
    description: str | None
    top_level: bool
    built_in: bool
    steps: tuple[StepInput, ...]


@dataclass(frozen=True, slots=True)
class SignInInput:
    """The sign-in of a file; empty where it has none."""

    flows: tuple[FlowInput, ...] = ()
    configs: tuple[AuthenticatorConfig, ...] = ()
    """Those without an id have an empty one."""
    actions: tuple[RequiredAction, ...] = ()
    has_actions: bool = False
    """Whether there is a list of actions, which may be empty."""
    texts: Mapping[str, Mapping[str, str]] | None = None


def parse_sign_in(document: Mapping[str, Any], path: str) -> SignInInput:
    """Return the sign-in of a realm file; raises InvalidInput with every wrong field."""
    errors: list[FieldError] = []
    flows = _read_list(document, "authenticationFlows", path, errors, _read_flow)
    configs = _read_list(document, "authenticatorConfig", path, errors, _read_config)
    actions = _read_list(document, "requiredActions", path, errors, _read_action)
    texts = document.get("localizationTexts")
    if texts is not None:
        texts = attempt(errors, None, parse_localization, texts, join(path, "localizationTexts"))
    raise_all(errors)
    known = tuple(action for action in actions if action is not None)
    has_actions = document.get("requiredActions") is not None
    return SignInInput(tuple(flows), tuple(configs), known, has_actions, texts)


def left_out(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what a file contains of a sign-in and this version does not read."""
    for item in _objects(document.get("requiredActions")):
        if item.get("providerId") not in ACTION_NAMES:
            yield f"requiredActions.{describe_name(str(item.get('alias')))}"
    for item in _objects(document.get("authenticatorConfig")):
        config = item.get("config")
        for name in config if isinstance(config, Mapping) else ():
            if name in SECRETS:
                yield f"authenticatorConfig.config.{describe_name(name)}"


def render_sign_in(
    flows: Flows,
    configs: Mapping[str, AuthenticatorConfig],
    actions: Iterable[RequiredAction],
    *,
    masked: bool = False,
) -> dict[str, Any]:
    """Return the parts of a realm file; `masked` hides what may be a secret."""
    return {
        "authenticationFlows": [render_flow(flows, flow, configs) for flow in flows],
        "authenticatorConfig": [
            render_config(config, flows.configured(config.id) if masked else None)
            for config in configs.values()
        ],
        "requiredActions": [render_action(action) for action in actions],
    }


def _read_flow(item: Mapping[str, Any], at: str) -> FlowInput:
    errors: list[FieldError] = []
    values = _read_named(item, _FLOW, at, errors)
    steps = _read_list(item, "authenticationExecutions", at, errors, _read_step)
    raise_all(errors)
    return FlowInput(
        path=at,
        alias=values["alias"],
        id=values.get("id"),
        kind=values.get("providerId", FlowKind.BASIC),
        description=values.get("description"),
        top_level=values.get("topLevel", False),
        built_in=values.get("builtIn", False),
        steps=tuple(steps),
    )


def _read_step(item: Mapping[str, Any], at: str) -> StepInput:
    errors: list[FieldError] = []
    values = parse_fields(item, _STEP, at, errors)
    if "flowAlias" not in values and "authenticator" not in values:
        errors.append(FieldError(at, "neither", "an authenticator or a flowAlias"))
    raise_all(errors)
    return StepInput(
        values.get("requirement", Requirement.DISABLED),
        values.get("priority", 0),
        *(values.get(name) for name in ("authenticator", "flowAlias", "authenticatorConfig")),
    )


def _read_config(item: Mapping[str, Any], at: str) -> AuthenticatorConfig:
    errors: list[FieldError] = []
    values = _read_named(item, _CONFIG, at, errors)
    raise_all(errors)
    settings = known_settings(values.get("config", {}))
    return AuthenticatorConfig(values.get("id", ""), values["alias"], settings)


def _read_action(item: Mapping[str, Any], at: str) -> RequiredAction | None:
    errors: list[FieldError] = []
    values = _read_named(item, _ACTION, at, errors)
    raise_all(errors)
    alias, config = values["alias"], values.get("config", {})
    provider = values.get("providerId", alias)
    if provider not in ACTION_NAMES:
        return None
    return RequiredAction(
        alias,
        values.get("name", ACTION_NAMES[provider]),
        provider,
        enabled=values.get("enabled", False),
        is_default=values.get("defaultAction", False),
        priority=values.get("priority", 0),
        config=config,
    )


def _read_named(
    item: Mapping[str, Any], fields: Mapping[str, Shape], at: str, errors: list[FieldError]
) -> dict[str, Any]:
    """Return the fields of an object that must have an alias."""
    if not item.get("alias"):
        errors.append(FieldError(join(at, "alias"), "nothing", "a name"))
    return parse_fields(item, fields, at, errors)


def _read_list(
    document: Mapping[str, Any],
    name: str,
    path: str,
    errors: list[FieldError],
    read: Callable[[Mapping[str, Any], str], ReadT],
) -> list[ReadT]:
    items = document.get(name)
    return [] if items is None else attempt(errors, [], _read_items, items, join(path, name), read)


def _read_items(
    items: Any, at: str, read: Callable[[Mapping[str, Any], str], ReadT]
) -> list[ReadT]:
    if not isinstance(items, list) or len(items) > _MOST:
        raise refused_items(at, items, list, f"a list of at most {_MOST} objects")
    raise_all(
        FieldError(f"{at}[{index}]", "something else", "an object", mistyped=True)
        for index, item in enumerate(items)
        if not isinstance(item, Mapping)
    )
    return parse_each(items, read, at)


def _objects(items: Any) -> Iterator[Mapping[str, Any]]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping):
            yield item
