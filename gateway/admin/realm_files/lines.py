"""The line of a member in the text of a realm file, for errors.

Errors have the path of a member as the readers name it. The text is walked once more, and only
where something is wrong.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final

from gateway.representations.refusals import join

_LONGEST: Final = 4 * 1024 * 1024
"""In characters of a text that is walked: it takes seconds."""
_SPACES: Final = re.compile(r"[ \t\n\r]*")
_SCALAR: Final = re.compile(r"[^\s,\]}]+")
_LAST_STEP: Final = re.compile(r"(?:\.[^.\[]*|\[[^\]]*\])\Z")


def find_lines(text: str, paths: Collection[str]) -> dict[str, int]:
    """Return the line of each path, or of the nearest member above it that the text has.

    The text is JSON that was parsed. A path that nothing of the text has is left out.
    """
    if len(text) > _LONGEST:
        return {}
    wanted = {above for path in paths for above in _with_ancestors(path)}
    places = dict(_Walk(text).members(wanted))
    found = {}
    for path in paths:
        place = next((places[each] for each in _with_ancestors(path) if each in places), None)
        if place is not None:
            found[path] = text.count("\n", 0, place) + 1
    return found


def _with_ancestors(path: str) -> Iterator[str]:
    while path:
        yield path
        shorter = _LAST_STEP.sub("", path)
        path = shorter if shorter != path else ""


@dataclass(slots=True)
class _Walk:
    """A walk through the text; yields the path and the place of each member that is wanted."""

    text: str
    at: int = 0
    found: list[tuple[str, int]] = field(default_factory=list)

    def members(self, wanted: Collection[str]) -> list[tuple[str, int]]:
        self._value("", wanted)
        return self.found

    def _value(self, path: str, wanted: Collection[str]) -> None:
        sign = self._peek()
        if sign == "{":
            self._container(path, wanted, "}")
        elif sign == "[":
            self._container(path, wanted, "]")
        elif sign == '"':
            _, self.at = scanstring(self.text, self.at + 1, True)
        else:
            scalar = _SCALAR.match(self.text, self.at)
            self.at = self.at + 1 if scalar is None else scalar.end()

    def _container(self, path: str, wanted: Collection[str], closing: str) -> None:
        self.at += 1
        index = 0
        while self._peek() not in {closing, ""}:
            place = self.at
            if closing == "}":
                name, self.at = scanstring(self.text, self.at + 1, True)
                member = join(path, name)
                self._peek()
                self.at += 1
            else:
                member = f"{path}[{index}]"
            if member in wanted:
                self._peek()
                self.found.append((member, place))
            self._value(member, wanted)
            index += 1
            if self._peek() == ",":
                self.at += 1
        self.at += 1

    def _peek(self) -> str:
        spaces = _SPACES.match(self.text, self.at)
        self.at = self.at if spaces is None else spaces.end()
        return self.text[self.at : self.at + 1]
