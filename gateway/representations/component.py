"""Components: Keycloak's JSON to a value and back.

A value of `config` is a list of texts; an empty one, or one of blanks, takes the setting away.
Keycloak: ComponentRepresentation, a strict decoder
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.representations.field_table import parse_strictly, without_none
from gateway.representations.json_input import check_text
from gateway.representations.names import Identity
from gateway.representations.refusals import attempt, join, parse_each, raise_all, refused_secret
from gateway.representations.shapes import Shape, Text
from gateway.representations.spelling import snake_case

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
    "id": Identity(),
    "name": _NAME,
    "providerId": _NAME,
    "providerType": _NAME,
    "parentId": _NAME,
    "subType": _NAME,
    "config": ConfigLists(),
}


@dataclass(frozen=True, slots=True)
class Component:
    """A component; None is what was not given."""

    id: str | None = None
    name: str | None = None
    provider_id: str | None = None
    provider_type: str | None = None
    parent_id: str | None = None
    sub_type: str | None = None
    config: Config = field(default_factory=dict, repr=False)


def parse_component(document: Mapping[str, Any]) -> Component:
    """Return what was sent; raises InvalidInput with every wrong field."""
    given = parse_strictly(document, COMPONENT_FIELDS, "ComponentRepresentation")
    return Component(**{snake_case(name): value for name, value in given.items()})


def render_component(component: Component) -> dict[str, Any]:
    """Return the JSON object, members in Keycloak's order."""
    members = {name: getattr(component, snake_case(name)) for name in COMPONENT_FIELDS}
    return without_none(members | {"config": ConfigLists().write(component.config)})


def merged(before: Config, given: Config) -> dict[str, tuple[str, ...]]:
    """Return `before` with `given`: what is not named stays, what is empty is removed."""
    return {name: values for name, values in {**before, **given}.items() if values}
