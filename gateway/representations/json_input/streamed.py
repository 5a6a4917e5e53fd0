"""Objects of a file one after another, however long the file: JSON lines, or a list in a document.

The document is that of an export: an object with a list `users` somewhere at its top, or the list
itself. What is before and after the list is read and dropped, a value at a time.
Spec: RFC 8259; JSON lines; Keycloak: realm export (users in the realm's file, or in files of their
own)
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TextIO

from gateway.domain.errors import FieldError, InvalidInput
from gateway.representations.json_input.plain import (
    DEEPER,
    NESTING,
    misread,
    reject_constant,
    unrepeated,
)

_CHUNK: Final = 1 << 16
_LONGEST_VALUE: Final = 1 << 26
_SPACE: Final = " \t\r\n"


@dataclass(frozen=True, slots=True)
class StreamedObject:
    """One value of the list; `number` counts from 1, `read` is how much of the file is behind."""

    number: int
    value: Any
    read: int


def stream_objects(file: TextIO, name: str, source: str) -> Iterator[StreamedObject]:
    """Yield each value of the list `name`; raises InvalidInput where the file is no such JSON."""
    reader = _Reader(file, source)
    opening = reader.peek()
    if opening == "[":
        yield from _numbered(reader)
        reader.expect_end()
        return
    if opening != "{":
        raise reader.refusal("an object, a list of objects, or an object a line")
    first = _Members(reader, name)
    if first.is_document:
        yield from _numbered(reader)
        reader.skip_members()
        reader.expect_end()
    else:
        yield from _lines(reader, first.value)


class _Members:
    """The members of the first object up to the list, or the whole of an object without one."""

    def __init__(self, reader: "_Reader", name: str) -> None:
        self.value: dict[str, Any] = {}
        self.is_document = False
        reader.take("{")
        while reader.peek() != "}":
            key = reader.value()
            if not isinstance(key, str):
                raise reader.refusal("a name")
            reader.take(":")
            if key == name and reader.peek() == "[":
                self.is_document = True
                self.value.clear()
                return
            if key in self.value:
                raise reader.refusal(f"the name {json.dumps(key)} once")
            self.value[key] = reader.value()
            if reader.peek() != "}":
                reader.take(",")
        reader.take("}")


def _numbered(reader: "_Reader") -> Iterator[StreamedObject]:
    reader.take("[")
    number = 0
    while reader.peek() != "]":
        if number:
            reader.take(",")
        number += 1
        yield StreamedObject(number, reader.value(), reader.read)
    reader.take("]")


def _lines(reader: "_Reader", first: dict[str, Any]) -> Iterator[StreamedObject]:
    number = 1
    yield StreamedObject(number, first, reader.read)
    while reader.peek():
        number += 1
        yield StreamedObject(number, reader.value(), reader.read)


class _Reader:
    """Reads one value after another from a file, and keeps none."""

    def __init__(self, file: TextIO, source: str) -> None:
        self._file = file
        self._source = source
        self._text = ""
        self._at = 0
        self._ended = False
        self._dropped = 0
        self._decoder: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(
            object_pairs_hook=unrepeated, parse_constant=reject_constant
        ).raw_decode

    @property
    def read(self) -> int:
        """How many characters are behind."""
        return self._dropped + self._at

    def peek(self) -> str:
        """Return the next sign that is no space, or nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill(_CHUNK):
                return ""

    def take(self, sign: str) -> None:
        """Pass over one sign; raises InvalidInput where another one stands."""
        if self.peek() != sign:
            raise self.refusal(json.dumps(sign))
        self._at += 1

    def value(self) -> Any:
        """Return the next value; a part of the file is read twice only where it did not suffice."""
        self.peek()
        missing = _CHUNK
        while True:
            try:
                value, end = self._decoder(self._text, self._at)
            except json.JSONDecodeError as error:
                problem, allowed = misread(error)
            except RecursionError as error:
                raise self.refusal(NESTING, DEEPER) from error
            except ValueError as error:
                raise self.refusal("JSON of RFC 8259", str(error)) from error
            else:
                # A number goes on where the text that was read so far ends.
                if end < len(self._text) or self._ended or not isinstance(value, int | float):
                    self._at = end
                    return value
                problem, allowed = "a number without an end", "JSON"
            if len(self._text) - self._at > _LONGEST_VALUE:
                raise self.refusal(f"a value of at most {_LONGEST_VALUE} characters", problem)
            if not self._fill(missing):
                raise self.refusal(allowed, problem)
            missing *= 2

    def skip_members(self) -> None:
        """Pass over the rest of an object whose list was read."""
        while self.peek() == ",":
            self.take(",")
            self.value()
            self.take(":")
            self.value()
        self.take("}")

    def expect_end(self) -> None:
        """Refuse anything but space up to the end of the file."""
        if self.peek():
            raise self.refusal("the end of the file")

    def refusal(self, allowed: str, given: str = "") -> InvalidInput:
        """Return the refusal of what stands here."""
        shown = given or json.dumps(self._text[self._at : self._at + 1]) if self._text else given
        place = f"{self._source}, character {self.read + 1}"
        return InvalidInput((FieldError(place, shown or "nothing", allowed),))

    def _fill(self, wanted: int) -> bool:
        """Read on; tell whether there was anything."""
        try:
            fresh = self._file.read(wanted)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                (FieldError(self._source, "a byte that is no UTF-8", "UTF-8 text"),)
            ) from error
        self._dropped += self._at
        self._text = self._text[self._at :] + fresh
        self._at = 0
        self._ended = not fresh
        return bool(fresh)
