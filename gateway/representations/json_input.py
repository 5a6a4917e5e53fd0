"""JSON that is sent: parsed within limits, in windows, or one object after another.

Depth and numbers are bounded, and every store can hold each text. A repeated name, a lone
surrogate, NUL, NaN and a number beyond 64 bits are legal for some parsers and not for others, so
that two readers would see two documents. Of documents of realms the last of repeated names counts,
as for Keycloak's decoder: files of many projects have a member twice.

The decoder of UTF-8 and the parser in C hold the interpreter lock until they are done. For many
megabytes they get a bounded window of the document; a value that does not fit is a text, or an
object or an array, whose members are parsed one by one.

A file of users is JSON lines, or the document of an export: an object with a list `users` somewhere
at its top, or the list itself. Values before and after the list are read and dropped one at a time.
Spec: RFC 8259, §4, RFC 7493; JSON lines; Keycloak: realm export (users in the realm's file, or in
files of their own)
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, Final, TextIO

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.input_sizes import clear_locals, freed
from gateway.representations.refusals import join, located, refused, repeated

WINDOW: Final = 64 * 1024
"""In bytes."""
MOST_MEMBERS: Final = 100_000
"""Of one object or array: the interpreter frees, and enlarges, a container in one step."""
LONGEST_TEXT: Final = 1024 * 1024
"""In characters of the document, escapes as they stand: a text is parsed in one step."""
LONGEST_NUMBER: Final = 4300
"""In characters, as the interpreter takes of an integer."""
_NUMBER_GOES_ON: Final = frozenset("0123456789.eE")
_SPACES: Final = re.compile(r"[ \t\n\r]*")


class TooManyMembersError(Exception):
    """An object or an array has more than MOST_MEMBERS members."""


class TooLongTextError(Exception):
    """A text has more than LONGEST_TEXT characters."""


class LargeJson:
    """One document in UTF-8; `parse` returns what `decoder` would return for it."""

    def __init__(
        self,
        document: bytes,
        decoder: json.JSONDecoder,
        deepest: int,
        repetitions: list[str] | None = None,
    ) -> None:
        """Parse at most `deepest` levels of objects and arrays that do not fit into a window.

        `repetitions` as for `parse_json`.
        """
        self._repetitions = repetitions
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

    def parse_document(self) -> Any:
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
        """Take a text; the window is enlarged until it ends."""
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
        """Take a number; the window is enlarged until it ends."""
        while self._fill(WINDOW):
            if self._fits():
                return self._taken
            if len(self._text) > LONGEST_NUMBER:
                break
        raise self._failure(_VALUE_EXPECTED)

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._at += 1
        if self._peek() == "}":
            self._at += 1
            return members
        self.unfinished.append(members)
        while True:
            if self._peek() != '"':
                raise self._failure(_NAME_EXPECTED)
            name = self._string()
            if self._peek() != ":":
                raise self._failure("Expecting ':' delimiter")
            self._at += 1
            value = self._value(depth)
            if name in members:
                if self._repetitions is None:
                    raise ValueError(f"the name {json.dumps(name)} twice in one object")
                self._repetitions.append(name)
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
            found = _SPACES.match(self._text, self._at)
            self._at = self._at if found is None else found.end()
            if self._at < len(self._text) or not self._fill(WINDOW):
                return self._text[self._at : self._at + 1]

    @property
    def _has_ended(self) -> bool:
        return self._read == len(self._document)

    def _fill(self, wanted: int) -> bool:
        """Read on, and drop the parsed text; return whether there was anything."""
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


MAX_DEPTH = 32
_MAX_INTEGER = 2**63 - 1
DEEPER = "deeper nesting"
NESTING = f"at most {MAX_DEPTH} levels of nesting"
_TEXT = "text without NUL and without unpaired surrogates"

_VALUE_EXPECTED: Final = "Expecting value"
_NAME_EXPECTED: Final = "Expecting property name enclosed in double quotes"
_EXPECTED: Final = {
    _VALUE_EXPECTED: "a value",
    _NAME_EXPECTED: "a name in double quotes",
    "Expecting ':' delimiter": "a colon",
    "Expecting ',' delimiter": "a comma, or the end of what was begun",
    "Extra data": "the end of the file",
    "Unterminated string starting at": "a text that ends in a double quote",
    "Invalid control character at": "an escape such as \\n",
    "Invalid \\escape": 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u',
    "Invalid \\uXXXX escape": "four hexadecimal digits after \\u",
}
"""The text at the place the parser names: its own words are for programmers."""


def _located_alike(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Return the error as every version of Python reports it.

    Since Python 3.13 a comma before the end of a container is named itself, without what is behind
    it; `LargeJson` and earlier versions name the end that comes too early.
    """
    if not error.msg.startswith("Illegal trailing comma"):
        return error
    spaces = _SPACES.match(error.doc, error.pos + 1)
    end = error.pos + 1 if spaces is None else spaces.end()
    is_array = error.doc[end : end + 1] == "]"
    return json.JSONDecodeError(_VALUE_EXPECTED if is_array else _NAME_EXPECTED, error.doc, end)


def misread(error: json.JSONDecodeError) -> tuple[str, str]:
    """Return the text where the parser gave up, and the text that is allowed there."""
    error = _located_alike(error)
    rest = error.doc[error.pos : error.pos + 1]
    known = next((said for said in _EXPECTED if error.msg.startswith(said)), "")
    return json.dumps(rest) if rest else "the end of the file", _EXPECTED.get(known, "JSON")


def parse_json(text: bytes, source: str | Path, repetitions: list[str] | None = None) -> Any:
    """Return the JSON value in `text`; raises InvalidInput naming the file, line and column.

    A name twice in one object is refused. With `repetitions` its last value counts, and the name is
    added to them.
    """
    try:
        value = _parse_bounded(text, repetitions)
    except json.JSONDecodeError as failure:
        error = _located_alike(failure)
        place = f"{source}, line {error.lineno}, column {error.colno}"
        raise InvalidInput((FieldError(place, *misread(error)),)) from failure
    except UnicodeDecodeError as error:
        raise InvalidInput(
            (FieldError(f"{source}, byte {error.start}", "a byte that is no UTF-8", "UTF-8 text"),)
        ) from error
    except RecursionError as error:
        raise InvalidInput((FieldError(str(source), DEEPER, NESTING),)) from error
    except TooManyMembersError as error:
        more = f"more than {MOST_MEMBERS} members of one object or array"
        raise InvalidInput((FieldError(str(source), more, f"at most {MOST_MEMBERS}"),)) from error
    except TooLongTextError as error:
        more = f"a text of more than {LONGEST_TEXT} characters"
        raise InvalidInput((FieldError(str(source), more, f"at most {LONGEST_TEXT}"),)) from error
    except ValueError as error:
        raise InvalidInput((FieldError(str(source), str(error), "JSON of RFC 8259"),)) from error
    held = [value]
    try:
        check_json(value, "")
    except InvalidInput as error:
        del value
        _free(held, error)
        with located(source):
            raise
    return value


def _parse_bounded(text: bytes, repetitions: list[str] | None) -> Any:
    pairs = unrepeated if repetitions is None else partial(_last_values, repetitions)
    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=reject_constant)
    if len(text) <= WINDOW:
        return decoder.decode(text.decode("utf-8-sig"))
    large = LargeJson(text, decoder, MAX_DEPTH, repetitions)
    try:
        return large.parse_document()
    except (ValueError, RecursionError, TooManyMembersError, TooLongTextError) as error:
        _free(large.unfinished, error)
        raise


def _free(values: list[object], error: Exception) -> None:
    """Free the parsed values in a loop, so that the event loop can take the interpreter lock."""
    clear_locals(error)
    for _ in freed(values):
        pass


def check_text(value: str, path: str) -> None:
    """Refuse text that some store or header could not hold."""
    if not is_plain_text(value):
        raise refused(path, value, _TEXT)


def is_plain_text(value: str) -> bool:
    """Tell whether every store and encoding can hold `value`."""
    if "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value)


def check_json(value: Any, path: str, depth: int = MAX_DEPTH) -> None:
    """Refuse a value that could not be written and read back unchanged anywhere."""
    if depth == 0:
        raise InvalidInput((FieldError(path, DEEPER, NESTING),))
    if isinstance(value, str):
        if not is_plain_text(value):
            raise refused(path, value, _TEXT)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if not is_plain_text(name):
                raise refused(path, name, _TEXT)
            check_json(inner, join(path, name), depth - 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check_json(inner, f"{path}[{index}]", depth - 1)
    elif not _is_exact(value):
        raise refused(path, value, "a number of at most 64 bits")


def _is_exact(value: Any) -> bool:
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN
    return value is None or (isinstance(value, int) and abs(value) <= _MAX_INTEGER)


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a name that comes twice is a ValueError."""
    unique = dict(pairs)
    if len(unique) != len(pairs):
        first, *_ = repeated(name for name, _ in pairs)
        raise ValueError(f"the name {json.dumps(first)} twice in one object")
    return unique


def _last_values(repetitions: list[str], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with the last value of each name; add names that come twice."""
    last = dict(pairs)
    if len(last) != len(pairs):
        repetitions += repeated(name for name, _ in pairs)
    return last


class LastMembers(dict[str, Any]):
    """The object of a document in which members came twice, each with its last value."""

    def __init__(self, members: dict[str, Any], repetitions: Iterable[str]) -> None:
        super().__init__(members)
        self.repetitions = tuple(dict.fromkeys(repetitions))
        """The names that came twice in one object of the document, each once."""


def reject_constant(name: str) -> Any:
    """Refuse NaN and the infinities."""
    raise ValueError(f"{name} as a number")


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
    first = _read_members(reader, name)
    if first is None:
        yield from _numbered(reader)
        reader.skip_members()
        reader.expect_end()
    else:
        yield from _lines(reader, first)


def _read_members(reader: "_Reader", name: str) -> dict[str, Any] | None:
    """Return the members of the first object; None where the list `name` begins in it."""
    members: dict[str, Any] = {}
    reader.take_sign("{")
    while reader.peek() != "}":
        key = reader.read_value()
        if not isinstance(key, str):
            raise reader.refusal("a name")
        reader.take_sign(":")
        if key == name and reader.peek() == "[":
            return None
        if key in members:
            raise reader.refusal(f"the name {json.dumps(key)} once")
        members[key] = reader.read_value()
        if reader.peek() != "}":
            reader.take_sign(",")
    reader.take_sign("}")
    return members


def _numbered(reader: "_Reader") -> Iterator[StreamedObject]:
    reader.take_sign("[")
    number = 0
    while reader.peek() != "]":
        if number:
            reader.take_sign(",")
        number += 1
        yield StreamedObject(number, reader.read_value(), reader.read)
    reader.take_sign("]")


def _lines(reader: "_Reader", first: dict[str, Any]) -> Iterator[StreamedObject]:
    number = 1
    yield StreamedObject(number, first, reader.read)
    while reader.peek():
        number += 1
        yield StreamedObject(number, reader.read_value(), reader.read)


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

    def take_sign(self, sign: str) -> None:
        """Pass over one sign; raises InvalidInput at another one."""
        if self.peek() != sign:
            raise self.refusal(json.dumps(sign))
        self._at += 1

    def read_value(self) -> Any:
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
            self.take_sign(",")
            self.read_value()
            self.take_sign(":")
            self.read_value()
        self.take_sign("}")

    def expect_end(self) -> None:
        """Refuse anything but space up to the end of the file."""
        if self.peek():
            raise self.refusal("the end of the file")

    def refusal(self, allowed: str, given: str = "") -> InvalidInput:
        """Return the refusal of the text here."""
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
