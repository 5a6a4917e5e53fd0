"""The type of a row: one setting that Keycloak 26.7 reads, and what it does in this version."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

Predicate = Callable[[Any], bool]


class Place(StrEnum):
    """Where a setting is written."""

    CLIENT_FIELD = "client"
    CLIENT_ATTRIBUTE = "client attribute"
    SCOPE_ATTRIBUTE = "client scope attribute"
    MAPPER_CONFIG = "protocol mapper configuration"
    REALM_FIELD = "realm"
    REALM_ATTRIBUTE = "realm attribute"
    EXECUTOR = "client policy executor"


class Effect(StrEnum):
    """What a setting does."""

    WORKS = "works"
    STORED = "stored only"
    REFUSED = "refused"
    NOT_STORED = "not stored"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting.

    A `name` that ends with `*` covers every name with that beginning. `note` is the effect of
    a setting that works, why a stored one is harmless, or the reason of a refusal, and `sample` a
    value of it. `refuses` returns whether a value is refused. `test` is the file that shows the
    effect.
    """

    place: Place
    name: str
    effect: Effect
    note: str
    sample: Any = "x"
    test: str = ""
    refuses: Predicate | None = None
    allowed: str = ""

    @property
    def example(self) -> str:
        return self.name.replace("*", "example")

    def covers(self, name: str) -> bool:
        if self.name.endswith("*"):
            return name.startswith(self.name[:-1])
        return name == self.name


def works(place: Place, test: str, *names: str, note: str = "") -> tuple[SettingRow, ...]:
    """Return rows of settings whose effect `test` shows."""
    return tuple(SettingRow(place, name, Effect.WORKS, note, test=test) for name in names)


def stored(place: Place, note: str, *names: str) -> tuple[SettingRow, ...]:
    """Return rows of settings that are stored and returned unchanged, and do nothing else."""
    return tuple(SettingRow(place, name, Effect.STORED, note) for name in names)


def not_stored(place: Place, note: str, *names: str) -> tuple[SettingRow, ...]:
    """Return rows of settings that are accepted and dropped."""
    return tuple(SettingRow(place, name, Effect.NOT_STORED, note) for name in names)


def refused(
    place: Place, name: str, note: str, *, refuses: Predicate, sample: Any, allowed: str
) -> SettingRow:
    """Return the row of a setting of which some values are refused."""
    return SettingRow(
        place, name, Effect.REFUSED, note, sample=sample, refuses=refuses, allowed=allowed
    )


def is_true(value: Any) -> bool:
    """Tell whether a boolean setting is switched on."""
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


@dataclass(frozen=True, slots=True)
class OtherThan:
    """Accepts any value but the empty text and those listed, compared in lower case."""

    accepted: tuple[str, ...] = ()

    def __call__(self, value: Any) -> bool:
        return str(value).strip().lower() not in {"", *self.accepted}


is_given: Final = OtherThan()
"""Returns whether a text setting has a value."""
