"""How an attribute of a profile is displayed in a form.

Texts are literal, or have keys of message texts in the form `${key}`.
Keycloak: 16.1, UPConfig
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class InputType(StrEnum):
    """The kind of field, by Keycloak's names; other types are displayed as text."""

    TEXT = "text"
    TEXTAREA = "textarea"
    SELECT = "select"
    EMAIL = "html5-email"
    TELEPHONE = "html5-tel"
    URL = "html5-url"


@dataclass(frozen=True, slots=True)
class Option:
    """A value to choose, and its text."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class AttributeDisplay:
    """What is displayed for one attribute; an empty label is the name of the attribute."""

    label: str = ""
    input_type: InputType = InputType.TEXT
    options: tuple[Option, ...] = ()
    hint: str = ""


PLAIN: Final = AttributeDisplay()
