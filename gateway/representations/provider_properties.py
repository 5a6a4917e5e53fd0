"""The settings of a provider: their descriptions and allowed values.

The same table checks what is sent and describes the settings to clients.
Keycloak: ProviderConfigProperty, in whose words a wrong value is refused
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.domain.errors import UnusableSetting

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_LARGEST: Final = 2**31 - 1


class Kind(StrEnum):
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
    """A setting. `standard` is what holds where nothing is set."""

    name: str
    label: str
    help: str
    kind: Kind = Kind.TEXT
    standard: str | None = None
    options: tuple[str, ...] = ()
    secret: bool = False
    required: bool = False
    as_boolean: bool = False
    """The default is described as a JSON boolean, as Keycloak does for some."""

    def read(self, values: tuple[str, ...]) -> str | None:
        """Return the value, or what holds without one; raises UnusableSetting."""
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
        if self.kind is Kind.FLAG and text not in {"true", "false"}:
            raise UnusableSetting(f"'{self.label}' should be 'true' or 'false'")
        if self.kind is Kind.NUMBER and not _is_number(text):
            raise UnusableSetting(f"'{self.label}' should be a number")

    def _default(self) -> str | bool | None:
        return self.standard == "true" if self.as_boolean else self.standard

    def document(self) -> dict[str, Any]:
        # Keycloak calls a number a text where a form shows it as one.
        kind = Kind.TEXT if self.kind is Kind.NUMBER else self.kind
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
    """A provider, and what may be set of it. Keycloak: ComponentTypeRepresentation."""

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
    return {each.name: each.read(config.get(each.name, ())) for each in properties}


def _alternatives(options: tuple[str, ...]) -> str:
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and abs(int(text)) <= _LARGEST
