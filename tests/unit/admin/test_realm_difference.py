"""Two states of a realm are compared field by field, each resource by its name."""

from typing import Any

import pytest

from gateway.admin.realm_files.dry_run import Hidden, differences, hidden

ROTATED = "client.secret.rotated"
KEY = b"k" * 32


def compared(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one.sign.value, one.what, one.field) for one in differences(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("~", "", "a")]),
        ({}, {"a": 2}, [("~", "", "a")]),
        ({"a": 1}, {}, [("~", "", "a")]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, [("~", "", "a.b.c")]),
        ({"a": [1, 2]}, {"a": [2, 1]}, [("~", "", "a")]),
        (
            {"a": [{"name": "x", "v": 1}, {"name": "y"}]},
            {"a": [{"name": "y"}, {"name": "x", "v": 2}]},
            [("~", "", "a.x.v")],
        ),
        ({"a": [{"name": "x"}]}, {"a": [{"name": "x"}] * 2}, [("~", "", "a")]),
        ({"a": []}, {"a": [{"alias": "x"}]}, [("~", "", "a.x")]),
        ({"clients": [{"clientId": "c"}]}, {"clients": []}, [("-", "client c", "")]),
        (
            {"roles": {"realm": [{"name": "r"}], "client": {"c": [{"name": "r"}]}}},
            {"roles": {"realm": [{"name": "r"}], "client": {"c": [{"name": "r", "v": 1}]}}},
            [("~", "role c/r", "v")],
        ),
        (
            {"groups": [{"name": "a", "path": "/a", "subGroups": []}]},
            {"groups": [{"name": "a", "path": "/a", "subGroups": [{"name": "b", "path": "/a/b"}]}]},
            [("+", "group /a/b", "")],
        ),
    ],
)
def test_what_is_another_is_told_where_it_stands(
    before: dict[str, Any], after: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    assert compared(before, after) == expected


def test_secrets_are_compared_and_not_kept() -> None:
    one = {
        "smtpServer": {"password": "canary", "authTokenClientSecret": "canary"},
        "clients": [{"clientId": "c", "secret": "canary", "attributes": {ROTATED: "canary"}}],
    }
    assert compared(hidden(one, KEY), hidden(one, KEY)) == []
    other = {
        "smtpServer": {"password": "x", "authTokenClientSecret": "z"},
        "clients": [{"clientId": "c", "secret": "y", "attributes": {ROTATED: "w"}}],
    }
    assert compared(hidden(one, KEY), hidden(other, KEY)) == [
        ("~", "", "smtpServer.password"),
        ("~", "", "smtpServer.authTokenClientSecret"),
        ("~", "client c", "secret"),
        ("~", "client c", f"attributes.{ROTATED}"),
    ]
    assert "canary" not in repr(hidden(one, KEY))
    assert hidden(one, KEY)["clients"][0]["secret"] != hidden(one, b"other")["clients"][0]["secret"]
    assert repr(Hidden(b"mark")) == "a hidden value"
