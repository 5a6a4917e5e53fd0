"""JSON that is parsed window by window is what the parser of the library returns."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.domain.errors import InvalidInput
from gateway.representations import json_input as large_json
from gateway.representations.json_input import (
    LargeJson,
    TooLongTextError,
    TooManyMembersError,
    parse_json,
)

FEW = settings(max_examples=200, deadline=None)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
DECODER = json.JSONDecoder()


@pytest.fixture(autouse=True)
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_json, "WINDOW", 16)


def parsed(text: str) -> Any:
    return LargeJson(text.encode(), DECODER, 100).parse_document()


@FEW
@given(VALUES, st.sampled_from((None, 0, 2)))
def test_values_are_those_of_the_library(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    assert json.dumps(parsed(text)) == json.dumps(json.loads(text))


@FEW
@given(VALUES, st.data())
def test_a_changed_text_is_refused_where_the_library_refuses_it(
    value: Any, data: st.DataObject
) -> None:
    text = json.dumps(value)
    place = data.draw(st.integers(0, len(text)))
    text = text[:place] + data.draw(st.sampled_from('{}[],:"1a ')) + text[place + 1 :]
    try:
        expected = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError:
        with pytest.raises(json.JSONDecodeError):
            parsed(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"twice|Unterm|Invalid|Expecting|Extra"):
            LargeJson(
                text.encode(), json.JSONDecoder(object_pairs_hook=unique), 100
            ).parse_document()
    else:
        assert json.dumps(parsed(text)) == json.dumps(expected)


def refusal(text: str, window: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_json, "WINDOW", window)
        try:
            parse_json(text.encode(), "f")
        except InvalidInput as error:
            return str(error)
    return ""


@FEW
@given(VALUES, st.sampled_from((None, 0, 2)), st.data())
def test_documents_of_any_size_are_refused_in_the_same_words(
    value: Any, indent: int | None, data: st.DataObject
) -> None:
    """The parser of the library names another place from Python 3.13 on."""
    text = json.dumps(value, indent=indent)
    place = data.draw(st.integers(0, len(text)))
    text = text[:place] + data.draw(st.sampled_from((",", ", ", ",\n"))) + text[place:]
    assert refusal(text, 1 << 16) == refusal(text, 16)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


def test_a_name_that_comes_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        parsed(json.dumps({"a": "x" * 20, "b": 1})[:-1] + ', "a": 2}')


def test_the_place_of_an_error_is_that_in_the_whole_text() -> None:
    for indent in (None, 2):
        text = json.dumps([{"name": "é" * 30}] * 5, indent=indent, ensure_ascii=False)
        text = text.rstrip("] \n") + ", wrong]"
        with pytest.raises(json.JSONDecodeError) as failure:
            parsed(text)
        lines = text[: text.index("wrong")].split("\n")
        assert (failure.value.lineno, failure.value.colno) == (len(lines), len(lines[-1]) + 1)
        error = failure.value
        assert error.doc[error.pos :].startswith("wrong")


def test_the_offset_of_invalid_utf8_is_that_of_the_document() -> None:
    document = json.dumps(["é" * 50], ensure_ascii=False).encode()[:-2] + b'\xff"]'
    with pytest.raises(UnicodeDecodeError) as failure:
        LargeJson(document, DECODER, 100).parse_document()
    assert failure.value.start == document.index(b"\xff")


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_json, "LONGEST_TEXT", 100)
    longest = {"é" * 90: ["é" * 90]}
    assert parsed(json.dumps(longest, ensure_ascii=False)) == longest
    for document in (["x" * 400], {"x" * 400: 1}):
        with pytest.raises(TooLongTextError):
            parsed(json.dumps(document))


def test_a_number_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match=r"limit|Expecting"):
        parsed("[" + "1" * 5000 + "]")


def test_deep_nesting_is_refused() -> None:
    text = "[" * 200 + "1" * 20 + "]" * 200
    with pytest.raises(RecursionError):
        LargeJson(text.encode(), DECODER, 32).parse_document()


@pytest.mark.parametrize("kind", ["array", "object"])
def test_an_object_or_array_of_too_many_members_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(large_json, "MOST_MEMBERS", 30)

    def text(count: int) -> str:
        return json.dumps(
            [[0] * count] if kind == "array" else {"in": {f"m{n}": n for n in range(count)}}
        )

    parsed(text(30))
    with pytest.raises(TooManyMembersError):
        parsed(text(31))


def test_what_was_parsed_before_an_error_can_be_freed() -> None:
    large = LargeJson(json.dumps([["x" * 20, {"a": ["y" * 20]}]])[:-4].encode() + b"!", DECODER, 32)
    with pytest.raises(json.JSONDecodeError):
        large.parse_document()
    assert [type(value) for value in large.unfinished] == [list, list, dict, list]
