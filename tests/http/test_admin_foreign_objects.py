"""Nothing of another realm is found by its id, for every row of the admin API's table.

The administrator of all realms asks, so that no missing right hides what would be found: an id of
the realm `owner` in a URL of the realm `asking` is answered as one that exists nowhere, and
`owner` stays as it is, to the last row.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest

from gateway.http.admin.operations import Operation, State
from tests.support.admin_operations import operations, parameters, send, title, url_of
from tests.support.administered_realm import (
    SIGN_IN,
    AdministeredRealm,
    administered_realm,
    client_in_sql,
    person,
)
from tests.support.administration import Administration

NO_OBJECT: Final = {"realm", "path", "protocol"}
"""Placeholders that stand for no object of a realm."""
KNOWN_TO_NOBODY: Final = {
    "/admin/realms/{realm}/attack-detection/brute-force/users/{user_id}": {200, 204},
}
"""Where Keycloak answers for a user who does not exist as for one who has never failed."""


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one realm, by the placeholders that may stand for them."""

    realm: AdministeredRealm
    ids: Mapping[str, str]


@contextmanager
def made(administration: Administration, name: str) -> Iterator[Objects]:
    """Make a realm with one object of each kind."""
    document: dict[str, Any] = {
        **SIGN_IN,
        "roles": {
            "realm": [{"name": f"role-of-{name}"}],
            "client": {"page": [{"name": f"role-of-{name}"}]},
        },
        "groups": [{"name": "crew"}],
        "users": [person("alice", groups=["/crew"])],
    }
    with administered_realm(administration, name, {}, **document) as realm:
        tokens = administration.http.post(
            f"/realms/{name}/protocol/openid-connect/token",
            data={
                "grant_type": "password",
                "client_id": "page",
                "username": "alice",
                "password": person("alice")["credentials"][0]["value"],
            },
        ).json()
        scope = realm.change(
            "POST", "client-scopes", {"name": f"scope-of-{name}", "protocol": "openid-connect"}
        )
        mapper = realm.change("POST", f"client-scopes/{scope}/protocol-mappers/models", MAPPER)
        role = realm.get(f"roles/role-of-{name}")
        client = client_in_sql(administration, name, "page")
        yield Objects(
            realm,
            {
                "client_id": client,
                "container": client,
                "part_id": client,
                "group_id": realm.get("group-by-path/crew")["id"],
                "id": realm.get("components")[0]["id"],
                "mapper_id": mapper,
                "role_id": role["id"],
                "role_name": role["name"],
                "scope_id": scope,
                "session_id": tokens["session_state"],
                "user_id": realm.get("users?username=alice")[0]["id"],
            },
        )


MAPPER: Final = {
    "name": "mapper",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-full-name-mapper",
    "config": {},
}


@pytest.fixture(scope="module")
def owner(administration: Administration) -> Iterator[Objects]:
    """Make the realm whose objects are asked for."""
    with made(administration, "owner") as objects:
        yield objects


@pytest.fixture(scope="module")
def asking(administration: Administration) -> Iterator[Objects]:
    """Make the realm in whose URLs they stand."""
    with made(administration, "asking") as objects:
        yield objects


def rows_of(administration: Administration, realm: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that the database holds of a realm, by table."""
    database = administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection:
        (realm_id,) = connection.execute(
            "SELECT id FROM realms WHERE name = ?", (realm,)
        ).fetchone()
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if any(row[1] == "realm_id" for row in connection.execute(f"PRAGMA table_info({name})"))
        ]
        found = {
            table: sorted(
                connection.execute(f"SELECT * FROM {table} WHERE realm_id = ?", (realm_id,)),  # noqa: S608 - names of tables
                key=repr,
            )
            for table in tables
        }
        found["realms"] = connection.execute(
            "SELECT * FROM realms WHERE id = ?", (realm_id,)
        ).fetchall()
    return found


def test_every_placeholder_stands_for_a_known_kind_of_object(owner: Objects) -> None:
    named = {name for row in operations() for name in parameters(row)}
    assert named - NO_OBJECT == owner.ids.keys()


ROWS: Final = [
    pytest.param(row, placeholder, id=f"{title(row)} {placeholder}")
    for row in operations()
    if row.state is not State.NOT_HERE
    for placeholder in parameters(row)
    if placeholder not in NO_OBJECT
]


@pytest.mark.parametrize(("operation", "placeholder"), ROWS)
def test_an_object_of_another_realm_is_not_found(
    administration: Administration,
    owner: Objects,
    asking: Objects,
    operation: Operation,
    placeholder: str,
) -> None:
    def answer(foreign: str) -> tuple[int, bytes]:
        values = {"realm": "asking", "path": "crew", "protocol": "openid-connect"}
        values |= {**asking.ids, placeholder: foreign}
        url = url_of(operation, values.__getitem__)
        found = send(administration, operation, url, administration.token())
        return found.status_code, found.content.replace(foreign.encode(), b"<id>")

    before = rows_of(administration, "owner")
    foreign, ghost = answer(owner.ids[placeholder]), answer("no-such-object")
    assert foreign == ghost
    assert foreign[0] in KNOWN_TO_NOBODY.get(operation.path, {404})
    assert rows_of(administration, "owner") == before


def test_what_is_asked_for_would_be_found_in_its_own_realm(owner: Objects) -> None:
    """Or else nothing is told by not finding it."""
    for path in (
        "clients/{client_id}/roles",
        "components/{id}",
        "client-scopes/{scope_id}/protocol-mappers/models/{mapper_id}",
        "groups/{group_id}",
        "roles-by-id/{role_id}",
        "roles/{role_name}",
        "users/{user_id}",
    ):
        assert owner.realm.ask("GET", path.format_map(owner.ids)).status_code == 200, path
    ended = f"sessions/{owner.ids['session_id']}"
    assert owner.realm.ask("DELETE", ended).status_code == 204
