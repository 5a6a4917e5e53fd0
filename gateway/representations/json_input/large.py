"""Parsing JSON of many megabytes without holding the interpreter lock for long.

The decoder of UTF-8 and the parser in C hold the lock until they are done. Here they get a bounded
window of the document; a value that does not fit is a text, or an object or an array, whose members
are parsed one by one.
Spec: RFC 8259
"""

import codecs
import json
import re
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final

WINDOW: Final = 64 * 1024
"""In bytes."""
MOST_MEMBERS: Final = 100_000
"""Of one object or array: the interpreter frees, and enlarges, a container in one step."""
LONGEST_TEXT: Final = 1024 * 1024
"""In characters of the document, escapes as they stand: a text is parsed in one step."""
LONGEST_NUMBER: Final = 4300
"""In characters, as the interpreter takes of an integer."""
_NUMBER_GOES_ON: Final = frozenset("0123456789.eE")
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class TooManyMembersError(Exception):
    """An object or an array has more than MOST_MEMBERS members."""


class TooLongTextError(Exception):
    """A text has more than LONGEST_TEXT characters."""


class LargeJson:
    """One document in UTF-8; `parse` returns what `decoder` would return for it."""

    def __init__(self, document: bytes, decoder: json.JSONDecoder, deepest: int) -> None:
        """Parse at most `deepest` levels of objects and arrays that do not fit into a window."""
        self._document = memoryview(document)
        self._read = len(codecs.BOM_UTF8) if document.startswith(codecs.BOM_UTF8) else 0
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once  # type: ignore[attr-defined]
        self._deepest = deepest
        self._text = ""
        self._at = 0
        self._lines = 0
        self._column = 0
        self.unfinished: list[object] = []
        """Objects and arrays whose end was not reached, the outermost first."""

    def parse(self) -> Any:
        """Return the value.

        Raises JSONDecodeError, UnicodeDecodeError, ValueError, RecursionError, TooManyMembersError
        or TooLongTextError. The errors have the line, the column and the byte in the document.
        """
        value = self._value(0)
        if self._peek():
            self.unfinished = [value]
            raise self._failure("Extra data")
        return value

    def _value(self, depth: int) -> Any:
        sign = self._peek()
        if self._fits():
            return self._taken
        if len(self._text) - self._at < WINDOW and self._fill(WINDOW) and self._fits():
            return self._taken
        if depth > self._deepest:
            raise RecursionError
        match sign:
            case "{":
                return self._object(depth + 1)
            case "[":
                return self._array(depth + 1)
            case '"':
                return self._string()
            case _:
                return self._number()

    def _fits(self) -> bool:
        """Take the value if all of it is in the window; it may also go on, or be wrong."""
        try:
            value, end = self._scan(self._text, self._at)
        except (StopIteration, json.JSONDecodeError):
            return False
        # A number at the end of the window may go on behind it, as in 1.5e-3.
        next_sign = self._text[end : end + 1]
        if not self._has_ended and (not next_sign or next_sign in _NUMBER_GOES_ON):
            return False
        self._taken = value
        self._at = end
        return True

    def _string(self) -> str:
        """Take a text, of which as much is read as it needs."""
        missing = WINDOW
        while True:
            try:
                value, self._at = scanstring(self._text, self._at + 1, True)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > LONGEST_TEXT:
                    raise TooLongTextError from error
                if not self._fill(missing):
                    raise self._placed(error) from None
                missing *= 2
            else:
                return str(value)

    def _number(self) -> Any:
        """Take what may be a number, of which as much is read as it needs."""
        while self._fill(WINDOW):
            if self._fits():
                return self._taken
            if len(self._text) > LONGEST_NUMBER:
                break
        raise self._failure("Expecting value")

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._at += 1
        if self._peek() == "}":
            self._at += 1
            return members
        self.unfinished.append(members)
        while True:
            if self._peek() != '"':
                raise self._failure("Expecting property name enclosed in double quotes")
            name = self._string()
            if self._peek() != ":":
                raise self._failure("Expecting ':' delimiter")
            self._at += 1
            value = self._value(depth)
            if name in members:
                raise ValueError(f"the name {json.dumps(name)} twice in one object")
            members[name] = value
            if self._has_closed("}", len(members)):
                return members

    def _array(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self._at += 1
        if self._peek() == "]":
            self._at += 1
            return items
        self.unfinished.append(items)
        while True:
            items.append(self._value(depth))
            if self._has_closed("]", len(items)):
                return items

    def _has_closed(self, closing: str, members: int) -> bool:
        """Take the sign behind a member; return whether its container has ended."""
        sign = self._peek()
        if sign not in {closing, ","}:
            raise self._failure("Expecting ',' delimiter")
        self._at += 1
        if sign == closing:
            self.unfinished.pop()
            return True
        if members == MOST_MEMBERS:
            raise TooManyMembersError
        return False

    def _peek(self) -> str:
        """Pass over space; return the next sign, nothing at the end of the document."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = self._at if found is None else found.end()
            if self._at < len(self._text) or not self._fill(WINDOW):
                return self._text[self._at : self._at + 1]

    @property
    def _has_ended(self) -> bool:
        return self._read == len(self._document)

    def _fill(self, wanted: int) -> bool:
        """Read on, and drop what is behind; return whether there was anything."""
        if self._has_ended:
            return False
        behind = self._text[: self._at]
        lines = behind.count("\n")
        self._lines += lines
        self._column = len(behind) - 1 - behind.rindex("\n") if lines else self._column + self._at
        end = min(self._read + wanted, len(self._document))
        unread = self._read - len(self._utf8.getstate()[0])
        try:
            fresh = self._utf8.decode(
                self._document[self._read : end], final=end == len(self._document)
            )
        except UnicodeDecodeError as error:
            error.start += unread
            raise
        self._read = end
        self._text = self._text[self._at :] + fresh
        self._at = 0
        return True

    def _failure(self, what: str) -> json.JSONDecodeError:
        return self._placed(json.JSONDecodeError(what, self._text, self._at))

    def _placed(self, error: json.JSONDecodeError) -> json.JSONDecodeError:
        """Give the error its place in the document."""
        if error.lineno == 1:
            error.colno += self._column
        error.lineno += self._lines
        return error
