"""Parsing JSON of many megabytes without holding the interpreter lock for long.

The parser in C holds the lock until it has a whole value. Here it gets a bounded window of the
text; a value that does not fit is an object or an array, whose members are parsed one by one.
Spec: RFC 8259
"""

import json
import re
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

WINDOW: Final = 64 * 1024
"""In characters."""
MOST_MEMBERS: Final = 100_000
"""Of one object or array: the interpreter frees, and enlarges, a container in one step."""
_NUMBER_GOES_ON: Final = frozenset("0123456789.eE")
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class TooManyMembersError(Exception):
    """An object or an array has more than MOST_MEMBERS members."""


class LargeJson:
    """One text; `parse` returns what `decoder` would return for it."""

    def __init__(self, text: str, decoder: json.JSONDecoder, deepest: int) -> None:
        """Parse at most `deepest` levels of objects and arrays that do not fit into a window."""
        self._text = text
        self._scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once  # type: ignore[attr-defined]
        self._deepest = deepest
        self._start = 0
        self._window = text[:WINDOW]
        self.unfinished: list[object] = []
        """Objects and arrays whose end was not reached, the outermost first."""

    def parse(self) -> Any:
        """Return the value.

        Raises JSONDecodeError, ValueError, RecursionError or TooManyMembersError.
        """
        value, end = self._value(self._skip(0), 0)
        end = self._skip(end)
        if end != len(self._text):
            self.unfinished = [value]
            self._fail("Extra data", end)
        return value

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        """Return the value that begins at `at`, and where it ends."""
        if not self._start <= at < self._start + len(self._window):
            self._move(at)
        found = self._fitting(at)
        if found is None and at != self._start:
            self._move(at)
            found = self._fitting(at)
        if found is not None:
            return found
        if depth > self._deepest:
            raise RecursionError
        match self._text[at : at + 1]:
            case "{":
                return self._object(at + 1, depth + 1)
            case "[":
                return self._array(at + 1, depth + 1)
            case _:
                return self._scalar(at)

    def _move(self, at: int) -> None:
        self._start = at
        self._window = self._text[at : at + WINDOW]

    def _fitting(self, at: int) -> tuple[Any, int] | None:
        """Return the value if all of it is in the window; None where it goes on, or is wrong."""
        try:
            value, end = self._scan(self._window, at - self._start)
        except (StopIteration, json.JSONDecodeError):
            return None
        # A number at the end of the window may go on behind it, as in 1.5e-3.
        next_sign = (
            self._window[end : end + 1] or self._text[self._start + end : self._start + end + 1]
        )
        is_whole = next_sign not in _NUMBER_GOES_ON
        return (value, self._start + end) if is_whole else None

    def _scalar(self, at: int) -> tuple[Any, int]:
        try:
            return self._scan(self._text, at)
        except StopIteration:
            self._fail("Expecting value", at)

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        at = self._skip(at)
        if self._text[at : at + 1] == "}":
            return members, at + 1
        self.unfinished.append(members)
        while True:
            if self._text[at : at + 1] != '"':
                self._fail("Expecting property name enclosed in double quotes", at)
            name, at = scanstring(self._text, at + 1, True)
            at = self._skip(at)
            if self._text[at : at + 1] != ":":
                self._fail("Expecting ':' delimiter", at)
            value, at = self._value(self._skip(at + 1), depth)
            if name in members:
                raise ValueError(f"the name {json.dumps(name)} twice in one object")
            members[name] = value
            at, has_ended = self._next(at, "}", len(members))
            if has_ended:
                self.unfinished.pop()
                return members, at

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = self._skip(at)
        if self._text[at : at + 1] == "]":
            return items, at + 1
        self.unfinished.append(items)
        while True:
            value, at = self._value(at, depth)
            items.append(value)
            at, has_ended = self._next(at, "]", len(items))
            if has_ended:
                self.unfinished.pop()
                return items, at

    def _next(self, at: int, closing: str, members: int) -> tuple[int, bool]:
        """Return where the next member begins, or where the container has ended."""
        at = self._skip(at)
        sign = self._text[at : at + 1]
        if sign == closing:
            return at + 1, True
        if sign != ",":
            self._fail("Expecting ',' delimiter", at)
        if members == MOST_MEMBERS:
            raise TooManyMembersError
        return self._skip(at + 1), False

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return at if found is None else found.end()

    def _fail(self, what: str, at: int) -> NoReturn:
        raise json.JSONDecodeError(what, self._text, at)
