"""The configuration of one validator, as a profile gives it.

Keycloak: ValidatorConfig with its messages; numbers may be texts
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_MISSING: Final = "error-validator-config-missing-value"
_WRONG: Final = "error-validator-config-invalid-value"
_NO_NUMBER: Final = "error-validator-config-invalid-number-value"
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ConfigurationError:
    """What is wrong with one value: `hint` is its name."""

    hint: str
    message: str
    given: tuple[str, ...] = ()


class Configuration:
    """The values by name; reading notes in `errors` what cannot be used.

    `stored` values were examined when they were written.
    """

    def __init__(self, values: Mapping[str, object], *, stored: bool = False) -> None:
        self._values = values
        self.stored = stored
        self.errors: list[ConfigurationError] = []

    def integer(self, name: str) -> int | None:
        """Return a whole number, None where it is missing or is none."""
        value = self._values.get(name)
        try:
            if value is None or (isinstance(value, int) and not isinstance(value, bool)):
                return value
            if isinstance(value, str) and value.isascii() and abs(int(value)) <= _LARGEST:
                return int(value)
        except ValueError:
            pass
        self._refuse(name, _NO_NUMBER, _shown(value))
        return None

    def number(self, name: str) -> float | None:
        """Return a number, None where it is missing or is none."""
        value = self._values.get(name)
        try:
            if value is None:
                return None
            if isinstance(value, int | float | str) and not isinstance(value, bool):
                number = float(value)
                if number - number == 0:  # neither infinite nor NaN
                    return number
        except (ValueError, OverflowError):
            pass
        self._refuse(name, _NO_NUMBER, _shown(value))
        return None

    def text(self, name: str) -> str | None:
        """Return a text, None where it is missing or is none."""
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value
        self._refuse(name, _WRONG, _shown(value))
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts, None where it is missing or is none."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self._refuse(name, _WRONG, "must be list of values")
        return None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a truth value; anything but true is false."""
        value = self._values.get(name)
        return default if value is None else str(value).lower() == "true"

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def missing(self, *names: str) -> None:
        for name in names:
            self._refuse(name, _MISSING)

    def wrong(self, name: str, *given: str) -> None:
        self._refuse(name, _WRONG, *given)

    def _refuse(self, name: str, message: str, *given: str) -> None:
        self.errors.append(ConfigurationError(name, message, given))


def _shown(value: object) -> str:
    return str(value)[:60]
