"""The two spellings of a field: Keycloak's camelCase and the specification's snake_case.

The rule is that of Ansible's keycloak modules: split at `_`, keep the first word, capitalise
each following one. Its inverse puts a `_` before every capital.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gateway.domain.errors import FieldError
from gateway.representations.refusals import describe, join

_CAPITAL = re.compile("[A-Z]")


def camel_case(name: str) -> str:
    """Return the JSON name of a snake_case name."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def snake_case(name: str) -> str:
    """Return the snake_case name of a JSON name."""
    return _CAPITAL.sub(lambda capital: "_" + capital.group().lower(), name)


class Names:
    """The known field names of one representation."""

    def __init__(self, names: Iterable[str]) -> None:
        self._camel = {spelling: name for name in names for spelling in (name, snake_case(name))}

    def __contains__(self, spelling: object) -> bool:
        """Return whether `spelling` is one of the names, either way."""
        return spelling in self._camel

    def __iter__(self) -> Iterator[str]:
        return iter(set(self._camel.values()))

    def collect(
        self,
        document: Mapping[str, Any],
        path: str,
        errors: list[FieldError],
        allowed: str | None = None,
    ) -> dict[str, tuple[str, Any]]:
        """Return what was given, by camelCase name, with the path as its author wrote it.

        A null counts as not given. A name in both spellings is an error, equal or not: it is
        unknown which of them the author changes next time. With `allowed`, the text of what
        is expected, an unknown name is an error as well.
        """
        given: dict[str, tuple[str, Any]] = {}
        for spelling, value in document.items():
            name = self._camel.get(spelling, spelling)
            if value is None:
                continue
            if name in given:
                both = f"{describe(name)} and {describe(snake_case(name))}"
                errors.append(FieldError(join(path, name), both, "one spelling"))
            given[name] = (join(path, spelling), value)
        if allowed is not None:
            errors.extend(
                FieldError(at, describe(name), allowed)
                for name, (at, _) in given.items()
                if name not in self._camel
            )
        return given
