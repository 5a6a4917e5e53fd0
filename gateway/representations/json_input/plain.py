"""Which JSON is taken at all: bounded depth and numbers, text that every store can hold.

A repeated name, a lone surrogate, NUL, NaN and a number beyond 64 bits are legal for some
parsers and not for others, so that two readers would see two documents. Spec: RFC 8259 §4, RFC 7493
"""

import json
from pathlib import Path
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.large_documents import clear_locals, freed
from gateway.representations.json_input.large import (
    LONGEST_TEXT,
    MOST_MEMBERS,
    WINDOW,
    LargeJson,
    TooLongTextError,
    TooManyMembersError,
)
from gateway.representations.refusals import join, located, refused, repeated

MAX_DEPTH = 32
_MAX_INTEGER = 2**63 - 1
DEEPER = "deeper nesting"
NESTING = f"at most {MAX_DEPTH} levels of nesting"
_TEXT = "text without NUL and without unpaired surrogates"


_EXPECTED: Final = {
    "Expecting value": "a value",
    "Expecting property name enclosed in double quotes": "a name in double quotes",
    "Illegal trailing comma before end of object": "another name",
    "Illegal trailing comma before end of array": "another value",
    "Expecting ':' delimiter": "a colon",
    "Expecting ',' delimiter": "a comma, or the end of what was begun",
    "Extra data": "the end of the file",
    "Unterminated string starting at": "a text that ends in a double quote",
    "Invalid control character at": "an escape such as \\n",
    "Invalid \\escape": 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u',
    "Invalid \\uXXXX escape": "four hexadecimal digits after \\u",
}
"""What stands where the parser says so: its words are for programmers."""


def misread(error: json.JSONDecodeError) -> tuple[str, str]:
    """Return what stands where the parser gave up, and what is allowed there."""
    rest = error.doc[error.pos : error.pos + 1]
    known = next((said for said in _EXPECTED if error.msg.startswith(said)), "")
    return json.dumps(rest) if rest else "the end of the file", _EXPECTED.get(known, "JSON")


def parse_json(text: bytes, source: str | Path) -> Any:
    """Return the JSON value in `text`; raises InvalidInput naming the file, line and column."""
    try:
        value = _parse(text)
    except json.JSONDecodeError as error:
        place = f"{source}, line {error.lineno}, column {error.colno}"
        raise InvalidInput((FieldError(place, *misread(error)),)) from error
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
        with located(source):
            check_json(value, "")
    except InvalidInput as error:
        del value
        _free(held, error)
        raise
    return value


def _parse(text: bytes) -> Any:
    decoder = json.JSONDecoder(object_pairs_hook=unrepeated, parse_constant=reject_constant)
    if len(text) <= WINDOW:
        return decoder.decode(text.decode("utf-8-sig"))
    large = LargeJson(text, decoder, MAX_DEPTH)
    try:
        return large.parse()
    except (ValueError, RecursionError, TooManyMembersError, TooLongTextError) as error:
        _free(large.unfinished, error)
        raise


def _free(values: list[object], error: Exception) -> None:
    """Free what was parsed, in a loop during which the event loop can take the interpreter lock."""
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
        check_text(value, path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            check_text(name, path)
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


def reject_constant(name: str) -> Any:
    """Refuse NaN and the infinities."""
    raise ValueError(f"{name} as a number")
