"""Components and the settings of their providers: Keycloak's JSON to values and back.

A value of `config` is a list of texts; an empty one, or one of blanks, takes the setting away. The
table of a provider's settings checks what is sent and describes the settings to clients.
Keycloak: ComponentRepresentation, a strict decoder; ProviderConfigProperty, in whose words a wrong
value is refused
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput, UnusableSetting
from gateway.representations.field_table import parse_strictly, snake_case, without_none
from gateway.representations.json_input import check_text
from gateway.representations.refusals import attempt, join, parse_each, raise_all, refused_secret
from gateway.representations.shapes import ObjectId, Shape, Text

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_LARGEST: Final = 2**31 - 1


class SettingKind(StrEnum):
    """What kind of value a setting takes, by Keycloak's name of its field in a form."""

    TEXT = "String"
    NUMBER = "Number"
    FLAG = "boolean"
    CHOICE = "List"
    CHOICES = "MultivaluedList"
    TEXTS = "MultivaluedString"
    FILE = "File"
    ROLE = "Role"
    AREA = "Text"


@dataclass(frozen=True, slots=True)
class Property:
    """A setting. `standard` is its default."""

    name: str
    label: str
    help: str
    kind: SettingKind = SettingKind.TEXT
    standard: str | None = None
    options: tuple[str, ...] = ()
    secret: bool = False
    required: bool = False
    as_boolean: bool = False
    """The default is described as a JSON boolean, as Keycloak does for some."""

    def parse_value(self, values: tuple[str, ...]) -> str | None:
        """Return the value, or the default without one; raises UnusableSetting."""
        if len(values) > 1:
            raise UnusableSetting(f"'{self.label}' should be a single entry")
        if not values:
            if self.required:
                raise UnusableSetting(f"'{self.label}' is required")
            return self.standard
        self._check(values[0])
        return values[0]

    def _check(self, text: str) -> None:
        if self.options and text not in self.options:
            raise UnusableSetting(f"'{self.label}' should be {_alternatives(self.options)}")
        if self.kind is SettingKind.FLAG and text not in {"true", "false"}:
            raise UnusableSetting(f"'{self.label}' should be 'true' or 'false'")
        if self.kind is SettingKind.NUMBER and not _is_number(text):
            raise UnusableSetting(f"'{self.label}' should be a number")

    def _default(self) -> str | bool | None:
        return self.standard == "true" if self.as_boolean else self.standard

    def document(self) -> dict[str, Any]:
        # Keycloak calls a number a text where a form shows it as one.
        kind = SettingKind.TEXT if self.kind is SettingKind.NUMBER else self.kind
        return {
            "name": self.name,
            "label": self.label,
            "helpText": self.help,
            "type": kind.value,
            **({} if self.standard is None else {"defaultValue": self._default()}),
            **({"options": list(self.options)} if self.options else {}),
            "secret": self.secret,
            "required": self.required,
            "readOnly": False,
        }


@dataclass(frozen=True, slots=True)
class ProviderDescription:
    """A provider and its settings. Keycloak: ComponentTypeRepresentation."""

    id: str
    help: str
    properties: tuple[Property, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "helpText": self.help,
            "properties": [each.document() for each in self.properties],
            "metadata": {},
        }


def parse_properties(
    properties: Iterable[Property], config: Mapping[str, tuple[str, ...]]
) -> dict[str, str | None]:
    """Return the value of each setting by its name; raises UnusableSetting for a wrong one."""
    return {each.name: each.parse_value(config.get(each.name, ())) for each in properties}


def _alternatives(options: tuple[str, ...]) -> str:
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and abs(int(text)) <= _LARGEST


_NAME: Final = Text(most=255)
_MOST_SETTINGS: Final = 100
_LONGEST: Final = 100_000
_SETTING: Final = Text(most=_LONGEST)

Config = Mapping[str, tuple[str, ...]]


class ConfigLists:
    """The settings of a component: lists of texts by name."""

    def read(self, value: Any, path: str) -> Config:
        if not isinstance(value, Mapping) or len(value) > _MOST_SETTINGS:
            # It may be a key, put one level too high, or without its list.
            raise refused_secret(path, f"an object of at most {_MOST_SETTINGS} lists of texts")
        errors: list[FieldError] = []
        config: dict[str, tuple[str, ...]] = {}
        for name, texts in value.items():
            attempt(errors, None, check_text, name, join(path, name))
            config[name] = attempt(errors, (), _read_texts, texts, join(path, name))
        raise_all(errors)
        return config

    def write(self, value: Config) -> dict[str, list[str]]:
        return {name: list(texts) for name, texts in value.items()}


def _read_texts(value: Any, path: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MOST_SETTINGS:
        raise refused_secret(path, f"a list of at most {_MOST_SETTINGS} texts")
    return tuple(text for text in parse_each(value, _read_setting, path) if text.strip())


def _read_setting(value: Any, path: str) -> str:
    try:
        return "" if value is None else _SETTING.read(value, path)
    except InvalidInput as error:
        raise refused_secret(path, f"text of at most {_LONGEST} characters") from error


COMPONENT_FIELDS: Final[Mapping[str, Shape]] = {
    "id": ObjectId(),
    "name": _NAME,
    "providerId": _NAME,
    "providerType": _NAME,
    "parentId": _NAME,
    "subType": _NAME,
    "config": ConfigLists(),
}


@dataclass(frozen=True, slots=True)
class Component:
    """A component; None is an omitted member."""

    id: str | None = None
    name: str | None = None
    provider_id: str | None = None
    provider_type: str | None = None
    parent_id: str | None = None
    sub_type: str | None = None
    config: Config = field(default_factory=dict, repr=False)


def parse_component(document: Mapping[str, Any]) -> Component:
    """Return the sent component; raises InvalidInput with every wrong field."""
    given = parse_strictly(document, COMPONENT_FIELDS, "ComponentRepresentation")
    return Component(**{snake_case(name): value for name, value in given.items()})


def render_component(component: Component) -> dict[str, Any]:
    """Return the JSON object, members in Keycloak's order."""
    members = {name: getattr(component, snake_case(name)) for name in COMPONENT_FIELDS}
    return without_none(members | {"config": ConfigLists().write(component.config)})


def merged(before: Config, given: Config) -> dict[str, tuple[str, ...]]:
    """Return `before` with `given`: omitted settings stay, empty ones are removed."""
    return {name: values for name, values in {**before, **given}.items() if values}
