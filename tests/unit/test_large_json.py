"""JSON that is parsed window by window is what the parser of the library returns."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.representations.json_input import large as large_json
from gateway.representations.json_input.large import LargeJson, TooManyMembersError

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
    return LargeJson(text, DECODER, 100).parse()


@FEW
@given(VALUES, st.sampled_from((None, 0, 2)))
def test_values_are_those_of_the_library(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
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
            LargeJson(text, json.JSONDecoder(object_pairs_hook=unique), 100).parse()
    else:
        assert json.dumps(parsed(text)) == json.dumps(expected)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


def test_a_name_that_comes_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        parsed(json.dumps({"a": "x" * 20, "b": 1})[:-1] + ', "a": 2}')


def test_the_place_of_an_error_is_that_in_the_whole_text() -> None:
    text = json.dumps([{"name": "x" * 30}] * 5)[:-2] + "}, wrong]"
    with pytest.raises(json.JSONDecodeError) as failure:
        parsed(text)
    assert failure.value.pos == text.index("wrong")


def test_deep_nesting_is_refused() -> None:
    text = "[" * 200 + "1" * 20 + "]" * 200
    with pytest.raises(RecursionError):
        LargeJson(text, DECODER, 32).parse()


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
    large = LargeJson(json.dumps([["x" * 20, {"a": ["y" * 20]}]])[:-4] + "!", DECODER, 32)
    with pytest.raises(json.JSONDecodeError):
        large.parse()
    assert [type(value) for value in large.unfinished] == [list, list, dict, list]
