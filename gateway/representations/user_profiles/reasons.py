"""Why a user profile cannot be used, in Keycloak's words. Keycloak: UPConfigUtils.validate."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.limits.patterns import LARGEST_PATTERNS, pattern_weight
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.profile import EMAIL, USERNAME, Viewer
from gateway.domain.user_profile.validators import VALIDATORS

_PATTERN: Final = "pattern"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class _Known:
    groups: frozenset[str]
    scopes: Collection[str] | None


def wrong_about(kept: Mapping[str, Any], scopes: Collection[str] | None) -> Iterator[str]:
    """Yield the reasons why the profile cannot be used; `scopes` are names of client scopes."""
    attributes = kept["attributes"]
    if _patterns_are_too_large(attributes):
        yield "The patterns of all attributes together are too long, or have too large ranges"
        return
    names = [attribute.get("name") for attribute in attributes]
    known = _Known(frozenset(group["name"] for group in kept["groups"] if "name" in group), scopes)
    for index, attribute in enumerate(attributes):
        if not attribute.get("name", "").strip():
            yield "Attribute configuration without 'name' is not allowed"
            continue
        if attribute["name"] in names[:index]:
            yield f"Attribute configuration already exists with 'name':'{attribute['name']}'"
        yield from _wrong(attribute, known)
    for name in (USERNAME, EMAIL):
        if name not in names:
            yield f"The attribute '{name}' can not be removed"
    nameless = sum(not group.get("name", "").strip() for group in kept["groups"])
    if nameless:
        yield f"Name is mandatory for groups, found {nameless} group(s) without name."


def _patterns_are_too_large(attributes: Iterable[Mapping[str, Any]]) -> bool:
    patterns = [
        text
        for attribute in attributes
        for values in attribute.get("validations", {}).values()
        if isinstance(text := values.get(_PATTERN), str)
    ]
    if sum(map(len, patterns)) > LARGEST_PATTERNS:  # before any is parsed
        return True
    return sum(map(pattern_weight, patterns)) > LARGEST_PATTERNS


def _wrong(attribute: Mapping[str, Any], known: _Known) -> Iterator[str]:
    name = attribute["name"]
    if not _NAME.fullmatch(name):
        yield (
            "Invalid attribute name (only letters, numbers and '.' '_' '-' special characters "
            f"allowed): {name}'"
        )
    for part in ("view", "edit"):
        given = attribute.get("permissions", {}).get(part, ())
        yield from _unsupported(f"permissions.{part}", name, given, "role", frozenset(Viewer))
    required = attribute.get("required", {})
    given = required.get("roles", ())
    yield from _unsupported("required.roles", name, given, "role", frozenset(Viewer))
    given = required.get("scopes", ())
    yield from _unsupported("required.scopes", name, given, "scope", known.scopes)
    given = attribute.get("selector", {}).get("scopes", ())
    yield from _unsupported("selector.scopes", name, given, "scope", known.scopes)
    group = attribute.get("group")
    if group is not None and group not in known.groups:
        yield f"Attribute '{name}' references unknown group '{group}'"
    for kind, values in attribute.get("validations", {}).items():
        yield from _unusable(name, kind, values)


def _unsupported(
    setting: str, name: str, given: Iterable[str], kind: str, known: Collection[str] | None
) -> Iterator[str]:
    for item in given:
        if known is not None and item not in known:
            place = f"'{setting}' configuration for attribute '{name}'"
            yield f"{place} contains unsupported {kind} '{item}'"


def _unusable(name: str, kind: str, values: Mapping[str, Any]) -> Iterator[str]:
    validator = VALIDATORS.get(kind)
    if validator is None:
        yield f"Validator '{kind}' defined for attribute '{name}' doesn't exist"
        return
    configuration = Configuration(values)
    validator(configuration)
    if configuration.errors:
        reasons = "".join(
            f"ValidationError{{validatorId='{kind}', inputHint='{error.hint}', "
            f"message='{error.message}', messageParameters=[{', '.join(error.given)}]}}, "
            for error in configuration.errors
        )
        defined = f"Validator '{kind}' defined for attribute '{name}'"
        yield f"{defined} has incorrect configuration: {reasons}"
