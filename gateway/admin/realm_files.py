"""Realm files: one realm, or a list of them, with users, clients and roles beside the settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.domain.errors import FieldError, InvalidInput
from gateway.representations.refusals import join, refused

_MOST = 100_000


@dataclass(frozen=True, slots=True)
class RealmFile:
    """The parsed JSON of a file; `source` is its name in errors."""

    source: str
    document: Any

    def realms(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each realm's path and JSON object; raises InvalidInput."""
        if isinstance(self.document, dict):
            yield "", self.document
            return
        if not isinstance(self.document, list) or not self.document:
            raise refused("realm", self.document, "a realm, or a list of realms")
        for index, document in enumerate(self.document):
            if not isinstance(document, dict):
                raise refused(f"[{index}]", document, "a realm")
            yield f"[{index}]", document


def embedded(document: Mapping[str, Any], name: str, path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return path and JSON object of each of the realm's `users` or `clients`."""
    items = document.get(name)
    at = join(path, name)
    if items is None:
        return []
    if not isinstance(items, list) or len(items) > _MOST:
        raise refused(at, items, f"a list of at most {_MOST}")
    found = [(f"{at}[{index}]", item) for index, item in enumerate(items)]
    errors = tuple(
        FieldError(place, "no object", "an object")
        for place, item in found
        if not isinstance(item, dict)
    )
    if errors:
        raise InvalidInput(errors)
    return found
