"""What is no JSON is told in our words: where, what stands there, and what is allowed."""

import io
from collections.abc import Callable

import pytest

from gateway.domain.errors import FieldError, InvalidInput
from gateway.representations.json_input import parse_json, stream_objects

WRONG = {
    "": "a value",
    '{"a": }': "a value",
    "{a": "a name in double quotes",
    '{"a" 1}': "a colon",
    '{"a": 1 "b"': "a comma, or the end of what was begun",
    '{"a": "b': "a text that ends in a double quote",
    '{"a": "\n"}': "an escape such as \\n",
    '{"a": "\\x"}': 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u',
    '{"a": "\\u00g0"}': "four hexadecimal digits after \\u",
}
PARSERS_WORDS = ("Expecting", "Extra data", "Unterminated", "Invalid", "recursion", "decod")


def _whole(text: str) -> object:
    return parse_json(text.encode(), "file.json")


def _streamed(text: str) -> object:
    return list(stream_objects(io.StringIO(text), "users", "file.json"))


def _refused(read: Callable[[str], object], text: str) -> FieldError:
    with pytest.raises(InvalidInput) as refusal:
        read(text)
    (error,) = refusal.value.errors
    assert error.path.startswith("file.json")
    assert not [word for word in PARSERS_WORDS if word in str(error)]
    return error


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_is_no_json_says_what_belongs_there(text: str) -> None:
    assert _refused(_whole, text).allowed == WRONG[text]


@pytest.mark.parametrize("text", list(WRONG)[1:])
def test_so_does_a_value_of_a_stream(text: str) -> None:
    assert _refused(_streamed, f"[{text}").allowed in {WRONG[text], '"}"', '":"', '","', "a name"}


def test_what_stands_there_is_shown_and_the_end_is_named() -> None:
    assert _refused(_whole, '{"a": x}').given == '"x"'
    assert _refused(_whole, '{"a": ').given == "the end of the file"
    assert str(_refused(_whole, '{} "x"')) == (
        'file.json, line 1, column 4: "\\"" given, the end of the file expected'
    )


@pytest.mark.parametrize("read", [_whole, _streamed])
def test_nesting_that_is_too_deep_is_named(read: Callable[[str], object]) -> None:
    error = _refused(read, "[" + '{"a":' + "[" * 100_000)
    assert (error.given, error.allowed) == ("deeper nesting", "at most 32 levels of nesting")
