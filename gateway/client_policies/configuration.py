"""Reads configurations of conditions and executors, which are JSON of any shape.

Keycloak writes flags and numbers as JSON or as text, according to the client that stored them.
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.client_policies.refusal import InvalidConfiguration

_FLAGS: Final = {"true": True, "false": False, "": False}
_LARGEST: Final = 2**31 - 1
_DIGITS: Final = len(str(_LARGEST))
_MOST: Final = 1000


class Configuration:
    """The members of one configuration; null counts as absent. Raises InvalidConfiguration."""

    def __init__(self, members: Any) -> None:
        if members is not None and not isinstance(members, Mapping):
            raise InvalidConfiguration("the configuration must be an object")
        self._members: Mapping[str, Any] = members or {}

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self._members.get(name)
        if value is None:
            return default
        found = value if isinstance(value, bool) else _FLAGS.get(str(value).lower())
        if found is None:
            raise _refused(name, value, "true or false")
        return found

    def text(self, name: str) -> str:
        """Return a text, empty where it is absent."""
        value = self._members.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise _refused(name, value, "a text")
        return value

    def number(self, name: str, default: int) -> int:
        """Return a whole number from 0 on."""
        value = self._members.get(name)
        text = str(value)
        if value in (None, ""):
            return default
        fits = text.isdecimal() and len(text) <= _DIGITS
        if not fits or int(text) > _LARGEST:
            raise _refused(name, value, f"a whole number from 0 to {_LARGEST}")
        return int(text)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one."""
        value = self._members.get(name)
        items = [value] if isinstance(value, str) else ([] if value is None else value)
        if not isinstance(items, list) or len(items) > _MOST:
            raise _refused(name, value, f"a list of at most {_MOST} texts")
        if not all(isinstance(item, str) for item in items):
            raise _refused(name, value, "a list of texts")
        return tuple(items)


def _refused(name: str, value: Any, allowed: str) -> InvalidConfiguration:
    return InvalidConfiguration(f"{name} is {str(value)[:50]!r}, allowed is {allowed}")
