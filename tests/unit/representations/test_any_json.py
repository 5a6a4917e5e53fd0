"""Whatever JSON arrives, the codecs accept it or refuse it field by field; nothing else happens."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.errors import InvalidInput
from gateway.domain.users import Credential
from gateway.representations.clients.client import parse_client, render_client
from gateway.representations.json_input import check_json
from gateway.representations.realms.realm import create_realm, parse_realm, render_realm
from gateway.representations.roles import parse_roles
from gateway.representations.users import parse_credentials, parse_user, render_user
from tests.support.realms import thorough

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STANDARD = Credential("c", "u", "password", NOW, "", "")
any_text = st.text(max_size=12) | st.sampled_from(
    ["true", "**********", "0", "600", "\ud800", "\0", "a b", "length(8) and x", "CN=a", "\r\n"]
)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            any_text | st.sampled_from(["name", "config", "password", "realm"]), inner
        )
    ),
    max_leaves=8,
)


def documents(*answers: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with known names and any values, beside a few that are right."""
    right = {name: value for answer in answers for name, value in answer.items()}
    names = st.sampled_from(sorted(right))
    wrong = st.dictionaries(names | any_text, any_json, max_size=6)
    fine = st.lists(names, max_size=6).map(lambda chosen: {name: right[name] for name in chosen})
    return st.builds(lambda one, other: one | other, fine, wrong)


REALM = render_realm(create_realm({"realm": "acme", "smtpServer": {"password": "p"}}))
CLIENT = render_client(parse_client({"clientId": "x"}, "r")) | {
    "secret": "s",
    "protocolMappers": [],
}
USER = render_user(parse_user({"username": "x"}, "r", now=NOW)) | {"credentials": []}
CREDENTIAL = {"value": "x", "type": "password", "secretData": "{}", "credentialData": "{}"}


@given(documents(REALM, {"passwordPolicy": "length(8)", "realm": "acme"}))
@thorough
def test_any_realm(document: dict[str, Any]) -> None:
    with suppress(InvalidInput):
        written = render_realm(parse_realm(document))
        check_json(written, "")
        json.dumps(written, allow_nan=False).encode()
    with suppress(InvalidInput):
        parse_realm(document, base=parse_realm({"realm": "acme"}))


@given(documents(CLIENT))
@thorough
def test_any_client(document: dict[str, Any]) -> None:
    with suppress(InvalidInput):
        check_json(render_client(parse_client(document, "r"), masked=False), "")


@given(documents(USER))
@thorough
def test_any_user(document: dict[str, Any]) -> None:
    with suppress(InvalidInput):
        check_json(render_user(parse_user(document, "r", now=NOW)), "")


@pytest.mark.parametrize(
    "read",
    [
        lambda value: parse_roles(value, "roles"),
        lambda value: parse_credentials(value, "c", owner="u", standard=STANDARD),
        parse_realm,
        lambda value: parse_client(value, "r"),
        lambda value: parse_user(value, "r", now=NOW),
    ],
    ids=["roles", "credentials", "realm", "client", "user"],
)
@given(value=any_json | st.lists(documents(CREDENTIAL), max_size=2))
@thorough
def test_any_value(read: Callable[[Any], object], value: object) -> None:
    with suppress(InvalidInput):
        read(value)
