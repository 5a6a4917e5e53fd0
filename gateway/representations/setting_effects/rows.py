"""The type of a row: one setting that Keycloak 26.7 reads, and what it does in this version."""

from collections.abc import Callable, Mapping
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
    AUTHENTICATOR = "authenticator"


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

    def covers(self, name: str) -> bool:
        if self.name.endswith("*"):
            return name.startswith(self.name[:-1])
        return name == self.name


def works(
    place: Place, names: Mapping[str, str], notes: Mapping[str, str] | None = None
) -> tuple[SettingRow, ...]:
    """Return rows of settings that work, their names by the test that shows it."""
    shown = notes or {}
    return tuple(
        SettingRow(place, name, Effect.WORKS, shown.get(name, ""), test=test)
        for test, together in names.items()
        for name in together.split()
    )


def stored(
    place: Place, names: Mapping[str, str], effect: Effect = Effect.STORED
) -> tuple[SettingRow, ...]:
    """Return rows of settings that are stored unchanged and do nothing else, by their note."""
    return tuple(
        SettingRow(place, name, effect, note)
        for note, together in names.items()
        for name in together.split()
    )


def refused(
    place: Place, name: str, note: str, *, refuses: Predicate, sample: Any, allowed: str
) -> SettingRow:
    """Return the row of a setting of which some values are refused."""
    return SettingRow(
        place, name, Effect.REFUSED, note, sample=sample, refuses=refuses, allowed=allowed
    )


def refused_flag(place: Place, name: str, note: str) -> SettingRow:
    """Return the row of an attribute that must not be true."""
    allowed = '"false" or nothing'
    return refused(place, name, note, refuses=is_true, sample="true", allowed=allowed)


def refused_text(place: Place, name: str, note: str, sample: str, *accepted: str) -> SettingRow:
    """Return the row of an attribute that is empty or one of the texts `accepted`."""
    allowed = " or ".join((*(f'"{each}"' for each in accepted), "nothing"))
    refuses = OtherThan(accepted) if accepted else is_given
    return refused(place, name, note, refuses=refuses, sample=sample, allowed=allowed)


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
