"""Settings that would promise a protection which this version does not give are refused.

Every document of a client scope or realm passes here, whichever way it came. A setting that a
stored object has already may be sent back unchanged: the import of its file has reported it. The
effects of all other settings: docs/effects-of-settings.md.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.client_scopes import ClientScope
from gateway.domain.errors import FieldError
from gateway.representations.refusals import describe, join

NOT_TRUE: Final = '"false" or nothing'
"""The allowed values of an attribute that must not be true."""


@dataclass(frozen=True, slots=True)
class IneffectiveSetting(FieldError):
    """A setting without the effect that its author expects, for the `reason`."""

    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.given} has no effect, {self.reason}; allowed: {self.allowed}"


@dataclass(frozen=True, slots=True)
class RefusedSetting:
    """A setting of which some values are refused.

    A `name` that ends with `*` covers every name with that beginning. `reason` completes "has no
    effect, ...", `allowed` is the text of the allowed values.
    """

    name: str
    reason: str
    refuses: Callable[[Any], bool]
    allowed: str

    def covers(self, name: str) -> bool:
        if self.name.endswith("*"):
            return name.startswith(self.name[:-1])
        return name == self.name


def is_true(value: Any) -> bool:
    """Tell whether a boolean setting is switched on."""
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


def is_given(value: Any) -> bool:
    """Tell whether a text setting has a value."""
    return str(value).strip() != ""


class Refusals:
    """The refused settings of one place, found by exact name or by prefix."""

    def __init__(self, refused: tuple[RefusedSetting, ...]) -> None:
        self._exact = {each.name: each for each in refused if not each.name.endswith("*")}
        self._prefixes = tuple(each for each in refused if each.name.endswith("*"))

    def __call__(
        self, after: Mapping[str, Any], before: Mapping[str, Any], path: str
    ) -> Iterator[IneffectiveSetting]:
        for name, value in after.items():
            row = self._setting(name)
            if row is None or not row.refuses(value):
                continue
            if name not in before or before[name] != value:
                at = join(path, name)
                yield IneffectiveSetting(at, describe(value), row.allowed, row.reason)

    def covers(self, name: str) -> bool:
        return self._setting(name) is not None

    def _setting(self, name: str) -> RefusedSetting | None:
        covering = (row for row in self._prefixes if row.covers(name))
        return self._exact.get(name) or next(covering, None)


REFUSED_OF_SCOPES: Final = (
    RefusedSetting(
        "always.display.consent",
        "a consent that was given is not asked for again, so the scope would not be displayed",
        is_true,
        NOT_TRUE,
    ),
)
"""Attributes of client scopes."""
_SCOPE_ATTRIBUTES: Final = Refusals(REFUSED_OF_SCOPES)


def ineffective_of_scope(
    scope: ClientScope, before: ClientScope | None = None, path: str = ""
) -> list[IneffectiveSetting]:
    """Return the settings of `scope` that would be ignored and that `before` does not have."""
    had = {} if before is None else before.attributes
    return list(_SCOPE_ATTRIBUTES(scope.attributes, had, join(path, "attributes")))
