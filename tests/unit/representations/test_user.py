"""Reading and writing users, their credentials and roles. Keycloak: UserRepresentation."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.errors import InvalidInput
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User
from gateway.representations.roles import RoleName, parse_role_names, parse_roles
from gateway.representations.users import (
    NewPassword,
    parse_credentials,
    parse_user,
    render_credential,
    render_user,
)
from tests.support.realms import names, texts, thorough

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STANDARD = Credential("credential-1", "user-1", "password", NOW, "", "")

users = st.builds(
    User,
    id=names,
    realm_id=st.just("realm-1"),
    username=names.map(str.lower),
    enabled=st.booleans(),
    created_at=st.integers(0, 32_503_680_000).map(lambda at: datetime.fromtimestamp(at, UTC)),
    email=st.none() | st.just("a@b.test"),
    email_verified=st.booleans(),
    first_name=st.none() | texts,
    last_name=st.none() | texts,
    attributes=st.dictionaries(names, st.lists(texts, max_size=3).map(tuple), max_size=3),
    required_actions=st.lists(names, max_size=2).map(tuple),
    not_before=st.integers(0, 2**31 - 1),
    document=st.just({}) | st.just({"federationLink": "ldap", "unknown": [1, {"b": 2, "a": 1}]}),
)


def errors(document: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as refusal:
        parse_user(document, "realm-1", now=NOW)
    return {error.path: error.given for error in refusal.value.errors}


@given(users)
@thorough
def test_what_is_written_is_read_back_to_an_equal_user(user: User) -> None:
    assert parse_user(render_user(user), "realm-1", now=NOW) == user
    assert parse_user(render_user(user), "realm-1", now=NOW, base=user) == user


def test_a_user_is_written_in_the_order_of_fields_and_attributes() -> None:
    answer = {
        "id": "user-1",
        "username": "a",
        "emailVerified": False,
        "attributes": {"z": ["2", "1"], "a": []},
        "enabled": True,
        "createdTimestamp": 5,
        "requiredActions": ["b", "a"],
        "notBefore": 7,
        "unknown": {"b": 1, "a": 2},
    }
    written = render_user(parse_user(answer, "realm-1", now=NOW))
    assert json.dumps(written) == json.dumps(answer)


def test_numbers_and_booleans_among_attributes_are_their_text() -> None:
    """`kcadm.sh ... -s attributes.floor=5` sends a number, and no list."""
    sent = {
        "floor": 5,
        "floors": [5, "6"],
        "wide": 1.5,
        "open": True,
        "none": None,
        "two": [True, 2],
    }
    assert parse_user({"username": "a", "attributes": sent}, "realm-1", now=NOW).attributes == {
        "floor": ("5",),
        "floors": ("5", "6"),
        "wide": ("1.5",),
        "open": ("true",),
        "none": (),
        "two": ("true", "2"),
    }


def test_an_update_replaces_attributes_and_actions_that_it_names() -> None:
    first = {"username": "a", "attributes": {"x": "1", "y": ["2"]}, "requiredActions": ["A"]}
    before = parse_user(first, "realm-1", now=NOW)
    assert before.attributes == {"x": ("1",), "y": ("2",)}
    assert parse_user({"firstName": "A"}, "realm-1", now=NOW, base=before).attributes == {
        "x": ("1",),
        "y": ("2",),
    }
    change = {"attributes": {"y": ["3"]}, "requiredActions": [], "notBefore": 9}
    after = parse_user(change, "realm-1", now=NOW, base=before)
    assert (after.attributes, after.required_actions) == ({"y": ("3",)}, ())
    assert after.not_before == 9
    assert after.document == {}


def test_id_and_creation_stay_as_they_are_in_an_update() -> None:
    before = parse_user({"username": "a"}, "realm-1", now=NOW)
    change = {"id": "other", "createdTimestamp": 5, "firstName": "A"}
    after = parse_user(change, "realm-1", now=NOW, base=before)
    assert (after.id, after.created_at, after.first_name) == (before.id, NOW, "A")


def test_names_and_addresses_are_lowered_and_users_disabled() -> None:
    user = parse_user({"username": "Alice", "email": "A@B.test"}, "realm-1", now=NOW)
    assert (user.username, user.email, user.enabled) == ("alice", "a@b.test", False)
    assert user.created_at == NOW


def test_what_stands_elsewhere_is_not_kept_with_the_user() -> None:
    document = {"username": "a", "credentials": [{"value": "canary"}], "realmRoles": ["x"]}
    assert parse_user(document, "realm-1", now=NOW).document == {}


def test_a_fetched_user_is_understood_with_its_computed_fields() -> None:
    answer = {"username": "a", "totp": False, "access": {"manage": True}, "notBefore": 0}
    assert parse_user(answer, "realm-1", now=NOW).document == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("username", ""),
        ("username", "a b"),
        ("username", "a\0b"),
        ("username", "a\u202eb"),
        ("email", "no-address"),
        ("email", "a@b@c"),
        ("email", "a@b\r\nBcc: c"),
        ("firstName", "\ud800"),
        ("createdTimestamp", -1),
        ("createdTimestamp", 10**15),
        ("attributes", {"a": [[]]}),
        ("attributes", {"a": [None]}),
        ("attributes", {"a": {}}),
        ("attributes", {"a": 1e30}),
        ("attributes", ["a"]),
        ("requiredActions", "UPDATE_PASSWORD"),
        ("notBefore", -1),
        ("notBefore", "soon"),
    ],
)
def test_a_wrong_field_is_refused(name: str, value: object) -> None:
    (path,) = errors({"username": "a", name: value})
    assert path.startswith(name)


def credentials(value: Any) -> tuple[NewPassword | Credential, ...]:
    return parse_credentials(value, "credentials", owner="user-1", standard=STANDARD)


def test_a_password_in_clear_is_read_as_a_secret() -> None:
    assert credentials([{"type": "password", "value": "canary", "temporary": True}]) == (
        NewPassword(Secret("canary"), temporary=True),
    )


def test_a_hashed_credential_is_read_as_it_is_and_written_masked() -> None:
    hashed = {
        "id": "c1",
        "type": "password",
        "createdDate": 1000,
        "priority": 20,
        "secretData": '{"value":"canary"}',
        "credentialData": '{"algorithm":"argon2"}',
    }
    (credential,) = credentials([hashed])
    assert isinstance(credential, Credential)
    assert render_credential(credential, masked=False) == hashed
    assert "canary" not in str(render_credential(credential))
    assert credentials([render_credential(credential)]) == ()


@pytest.mark.parametrize(
    ("credential", "path"),
    [
        ({"value": ""}, "value"),
        ({"value": "x" * 1025}, "value"),
        ({"value": "canary\0"}, "value"),
        ({"value": [123456]}, "value"),
        ({"value": "canary", "type": "otp"}, "type"),
        ({"value": "canary", "temporary": []}, "temporary"),
        ({"type": "password", "credentialData": "{}"}, "secretData"),
        ({"type": "password", "secretData": "{}", "credentialData": "[]"}, "credentialData"),
        ({"type": "password", "secretData": "canary", "credentialData": "{}"}, "secretData"),
        ({"secretData": "{}", "credentialData": "{}"}, "type"),
    ],
)
def test_a_wrong_credential_is_refused_and_never_shown(
    credential: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        credentials([credential])
    assert [error.path for error in refusal.value.errors] == [f"credentials[0].{path}"]
    assert "canary" not in str(refusal.value)
    assert "123456" not in str(refusal.value)


@pytest.mark.parametrize("value", ["canary", {"value": "canary"}, ["canary"]])
def test_malformed_credentials_are_refused_and_never_shown(value: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        credentials(value)
    assert "canary" not in str(refusal.value)


def test_roles_are_read_with_their_composites_by_name() -> None:
    (one, other) = parse_roles(
        {
            "realm": [{"name": "a", "composites": {"realm": ["b"], "client": {"c": ["d"]}}}],
            "client": {"c": [{"name": "d", "description": "D"}]},
        },
        "roles",
    )
    assert one.role == RoleName("a")
    assert one.composites == (RoleName("b"), RoleName("d", "c"))
    assert (other.role, other.description) == (RoleName("d", "c"), "D")


@pytest.mark.parametrize(
    ("roles", "path"),
    [
        ({"realms": []}, "roles"),
        ({"realm": [{"name": ""}]}, "roles.realm[0].name"),
        ({"realm": [{}]}, "roles.realm[0].name"),
        ({"realm": [{"name": "a", "x": 1}]}, "roles.realm[0].x"),
        ({"realm": ["a"]}, "roles.realm[0]"),
        ({"client": {"c": "a"}}, "roles.client.c"),
        ({"realm": [{"name": "a", "composites": ["b"]}]}, "roles.realm[0].composites"),
    ],
)
def test_a_wrong_role_is_refused(roles: object, path: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_roles(roles, "roles")
    assert [error.path for error in refusal.value.errors] == [path]


@pytest.mark.parametrize(
    ("realm", "clients", "path"),
    [("a", None, "u.realmRoles"), ([[]], None, "u.realmRoles[0]"), (None, ["a"], "u.clientRoles")],
)
def test_wrong_role_names_are_refused(realm: object, clients: object, path: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_role_names(("u.realmRoles", realm), ("u.clientRoles", clients))
    assert [error.path for error in refusal.value.errors] == [path]
