"""Which JSON is taken at all. Spec: RFC 8259 §4, RFC 7493."""

from time import process_time

import pytest

from gateway.domain.errors import InvalidInput
from gateway.representations.json_input import MAX_DEPTH, parse_json


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b'{"a": 1,}', 'realm.json, line 1, column 9: "}" given, a name in double quotes expected'),
        (b'{"a": 1 ,\n }', 'line 2, column 2: "}" given, a name in double quotes expected'),
        (b'{"a": [1,\t]}', 'realm.json, line 1, column 11: "]" given, a value expected'),
        (b'{\n "a": tru}', "realm.json, line 2, column 7"),
        (b"", "realm.json, line 1, column 1"),
        (b"\xff\xfe", "realm.json, byte 0"),
        (b'{"enabled": true, "enabled": false}', 'the name "enabled" twice'),
        (b'{"a": NaN}', "NaN as a number"),
        (b'{"a": -Infinity}', "-Infinity as a number"),
        (b"[" * 100_000, "nesting"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nesting"),
        (b"9" * 5000, "realm.json"),
        (b'{"a": [1e400]}', "realm.json: a[0]"),
        (b'{"a": 9223372036854775808}', "realm.json: a: 9223372036854775808"),
        (b'{"a": "\\ud800"}', "realm.json: a"),
        (b'{"a": "\\u0000"}', "realm.json: a"),
        (b'{"\\u0000": 1}', "realm.json"),
    ],
)
def test_what_two_readers_would_read_differently_is_refused(text: bytes, told: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_json(text, "realm.json")
    assert told in str(refusal.value)


def test_ordinary_json_is_accepted_with_or_without_a_bom() -> None:
    value = {"a": [1, 2.5, None, True, "ä𝄞"], "b": {}}
    text = '{"a": [1, 2.5, null, true, "ä\\ud834\\udd1e"], "b": {}}'.encode()
    assert parse_json(text, "f") == value
    assert parse_json(b"\xef\xbb\xbf" + text, "f") == value


def test_a_repeated_name_is_found_quickly_among_many() -> None:
    """Anybody may send 64 KiB where clients register themselves, an administrator more."""
    names = [*(f'"{number:x}":1' for number in range(40_000)), '"9c3f":2']
    began = process_time()
    with pytest.raises(InvalidInput, match='the name "9c3f" twice'):
        parse_json(f"{{{','.join(names)}}}".encode(), "f")
    assert process_time() - began < 1  # of quadratic work: 10 seconds
