"""Attributes that are searched for, as a URL names them."""

from time import thread_time

import pytest

from gateway.admin.users.listing import read_attribute_query


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("team", {}),
        ("team:blue", {"team": "blue"}),
        ("team:blue team:red desk:2", {"team": "blue", "desk": "2"}),
        ("team:a:b", {"team": "a:b"}),
        ('"my team":"deep blue" desk:"2"', {"my team": "deep blue", "desk": "2"}),
        ('odd"team:blue', {"team": "blue"}),
        ('team:"blue', {"team": '"blue'}),
        ('team:"" desk:2', {"team": "", "desk": "2"}),
        ('team:""desk:2', {"team": "", "desk": "2"}),
        ("team: blue", {}),
    ],
)
def test_names_and_values_are_read(text: str, found: dict[str, str]) -> None:
    assert read_attribute_query(text) == found


@pytest.mark.parametrize("part", ["a", '"', '"a', 'a"', ':"', 'a:"', 'a:"b ', '":', " ", "a "])
def test_no_query_takes_long_to_read(part: str) -> None:
    began = thread_time()
    read_attribute_query(part * (64 * 1024 // len(part)))
    assert thread_time() - began < 1  # of quadratic work: 15 seconds
