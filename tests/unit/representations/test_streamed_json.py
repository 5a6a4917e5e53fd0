"""A file of any length is read one object at a time, and only as the JSON it is. Spec: RFC 8259."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.errors import InvalidInput
from gateway.representations import json_input as streamed_json
from gateway.representations.json_input import stream_objects

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), max_size=5)
OTHERS = st.dictionaries(st.text(max_size=6).filter(lambda name: name != "users"), JSON, max_size=3)


class Drip(io.StringIO):
    """Gives a few characters at a time, whatever is asked for."""

    size = 3

    def read(self, wanted: int | None = -1, /) -> str:
        """Read a little."""
        del wanted
        return super().read(self.size)


def values(text: str, size: int = 1 << 16) -> list[Any]:
    file = Drip(text)
    file.size = size
    return [item.value for item in stream_objects(file, "users", "file")]


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        values(text)
    (error,) = refused.value.errors
    return error.path


@given(OBJECTS, OTHERS, OTHERS, st.integers(1, 9), st.sampled_from([None, 1]))
def test_the_list_of_an_export_is_found_among_its_other_members(
    objects: list[Any], before: dict[str, Any], after: dict[str, Any], size: int, indent: int | None
) -> None:
    members = [*before.items(), ("users", objects), *after.items()]
    text = ",".join(f"{json.dumps(k)}: {json.dumps(v, indent=indent)}" for k, v in members)
    assert values(f" {{{text}}}\n", size) == objects


@given(OBJECTS, st.integers(1, 9))
def test_a_list_alone_is_read(objects: list[Any], size: int) -> None:
    assert values(json.dumps(objects), size) == objects


@given(OBJECTS.filter(len), st.integers(1, 9))
def test_json_lines_are_read(objects: list[Any], size: int) -> None:
    objects[0].pop("users", None)
    text = "\n".join(json.dumps(item) for item in objects)
    assert values(text, size) == objects
    assert values(text.replace("\n", "\r\n\r\n") + "\n", size) == objects


def test_values_are_numbered_from_one_and_report_the_offset() -> None:
    text = '[{"a": 1}, {"b": 2}]'
    found = list(stream_objects(io.StringIO(text), "users", "file"))
    assert [(item.number, item.read) for item in found] == [(1, 9), (2, 19)]


def test_a_list_of_another_name_is_passed_over() -> None:
    assert values('{"clients": [{"x": 1}], "users": [{"y": 2}], "users2": [{"z": 3}]}') == [
        {"y": 2}
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        '"text"',
        "[",
        '[{"a": 1}',
        '[{"a": 1} {"b": 2}]',
        '[{"a": 1},]',
        '[{"a": 1}] x',
        '{"users": [{"a": 1}]',
        '{"users": [{"a": 1}]} x',
        '{"users": [{"a": 1}] "b": 2}',
        '{"a" 1}',
        "{5: 1}",
        '{"a": 1, "a": 2}',
        '[{"a": 1, "a": 2}]',
        '[{"a": NaN}]',
        '[{"a": tru}]',
        '{"a": 1}\n{"b": }',
    ],
)
def test_what_is_no_such_json_is_refused_where_it_stands(text: str) -> None:
    assert refusal(text).startswith("file, character ")


def test_a_value_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed_json, "_LONGEST_VALUE", 1000)
    text = '[{"a": "' + "x" * 5000
    file = Drip(text)
    file.size = 100
    with pytest.raises(InvalidInput, match="at most 1000 characters"):
        list(stream_objects(file, "users", "file"))
    assert file.tell() < len(text) / 2


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    file = io.TextIOWrapper(io.BytesIO(b'[{"a": "\xff"}]'), encoding="utf-8")
    with pytest.raises(InvalidInput, match="UTF-8"):
        list(stream_objects(file, "users", "file"))
