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
from tests.support.admin_operations import (
    operations,
    parameters,
    send,
    title,
    url_of,
)
from tests.support.administered_realm import (
    SIGN_IN,
    AdministeredRealm,
    administered_realm,
    client_in_sql,
    person,
)
from tests.support.administration import Administration
from tests.support.chains import CA, issue

NO_OBJECT: Final[Mapping[str, str]] = {
    "attr": "jwt.credential",
    "key": "key",
    "locale": "en",
    "node": "node",
    "path": "crew",
    "protocol": "openid-connect",
    "provider": "auth-cookie",
    "provider_id": "keycloak-oidc-keycloak-json",
    "realm": "asking",
    "required-actions/alias": "CONFIGURE_TOTP",
}
"""Placeholders that stand for no object of a realm, and what stands there instead.

After the word before it, where one of that name stands for an object elsewhere.
"""
ANSWERED_ALL_THE_SAME: Final = {
    "/admin/realms/{realm}/attack-detection/brute-force/users/{user_id}": {200, 204},
    "/admin/realms/{realm}/authentication/executions/{id}/config/{config}": {200, 404},
    "/admin/realms/{realm}/authentication/flows/{alias}/executions/execution": {400},
    "/admin/realms/{realm}/authentication/flows/{alias}/executions/flow": {400},
    "/admin/realms/{realm}/clients-initial-access/{access_id}": {204},
}
"""Where Keycloak answers otherwise: a user who does not exist has never failed, the step before a
configuration is passed over, a flow to add to is part of what is sent, and a token that is gone is
gone.
"""
MAPPER: Final = {
    "name": "mapper",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-full-name-mapper",
    "config": {},
}


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
        client = client_in_sql(administration, name, "page")
        user = realm.get("users?username=alice")[0]["id"]
        credential = realm.get(f"users/{user}/credentials")[0]["id"]
        yield Objects(
            realm,
            {
                **dict.fromkeys(("client", "client_id", "container", "part_id"), client),
                **dict.fromkeys(("credential_id", "previous_id"), credential),
                **_of_scopes(realm),
                **_of_flows(realm),
                "access_id": _initial_access(realm),
                "components/id": realm.get("components")[0]["id"],
                "denied/id": realm.change(
                    "POST", "certificates/denied", {"issuer": f"CN={name}", "serial": "1"}
                ),
                "group_id": realm.get("group-by-path/crew")["id"],
                "role_id": realm.get(f"roles/role-of-{name}")["id"],
                "role_name": f"role-of-{name}",
                "sha256": _authority(realm, client),
                "site": _site(realm),
                "session_id": realm.sign_in("alice")["session_state"],
                "user_id": user,
            },
        )


def _initial_access(realm: AdministeredRealm) -> str:
    made = realm.ask("POST", "clients-initial-access", {"count": 1})
    return str(made.json()["id"])


def _authority(realm: AdministeredRealm, client: str) -> str:
    document = {"certificate": issue(f"authority of {realm.name}", None, CA).pem}
    realm.change("POST", f"clients/{client}/certificates/authorities", document)
    return realm.change("POST", "certificates/authorities", document)


def _site(realm: AdministeredRealm) -> str:
    name = f"site-of-{realm.name}"
    return realm.change("POST", "guard/sites", {"name": name, "hosts": [f"{name}.example.test"]})


def _of_scopes(realm: AdministeredRealm) -> dict[str, str]:
    told = {"name": f"scope-of-{realm.name}", "protocol": "openid-connect"}
    scope = realm.change("POST", "client-scopes", told)
    mapper = realm.change("POST", f"client-scopes/{scope}/protocol-mappers/models", MAPPER)
    return {"scope_id": scope, "mapper_id": mapper}


def _of_flows(realm: AdministeredRealm) -> dict[str, str]:
    alias = f"flow-of-{realm.name}"
    flow = realm.change("POST", "authentication/flows/browser/copy", {"newName": alias})
    steps = realm.get(f"authentication/flows/{alias}/executions")
    (configured,) = [step for step in steps if "authenticationConfig" in step]
    return {
        "config/config": configured["authenticationConfig"],
        "executions/id": configured["id"],
        "flows/alias": alias,
        "flows/id": flow,
    }


def key(operation: Operation, placeholder: str) -> str:
    """Return under which name a placeholder's object is known."""
    start = operation.path.index(f"{{{placeholder}")
    before = operation.path[:start].rstrip("/").rpartition("/")[2]
    return placeholder if before.startswith("{") else f"{before}/{placeholder}"


def value_in(values: Mapping[str, str], operation: Operation, placeholder: str) -> str:
    """Return what stands for a placeholder."""
    narrow = key(operation, placeholder)
    return values[narrow if narrow in values else placeholder]


def is_object(operation: Operation, placeholder: str) -> bool:
    return not {placeholder, key(operation, placeholder)} & NO_OBJECT.keys()


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


ROWS: Final = [
    pytest.param(row, placeholder, id=f"{title(row)} {placeholder}")
    for row in operations()
    if row.state is not State.NOT_SUPPORTED
    for placeholder in parameters(row)
    if is_object(row, placeholder)
]


def test_the_realms_have_no_object_in_common(owner: Objects, asking: Objects) -> None:
    assert owner.ids.keys() == asking.ids.keys()
    assert not set(owner.ids.values()) & set(asking.ids.values())


@pytest.mark.parametrize(("operation", "placeholder"), ROWS)
def test_an_object_of_another_realm_is_not_found(
    administration: Administration,
    owner: Objects,
    asking: Objects,
    operation: Operation,
    placeholder: str,
) -> None:
    def answer(foreign: str) -> tuple[int, bytes]:
        def value_of(name: str) -> str:
            if name == placeholder:
                return foreign
            return value_in({**asking.ids, **NO_OBJECT}, operation, name)

        url = url_of(operation, value_of)
        found = send(administration, operation, url, administration.token())
        return found.status_code, found.content.replace(foreign.encode(), b"<id>")

    before = rows_of(administration, "owner")
    foreign = answer(value_in(owner.ids, operation, placeholder))
    assert foreign == answer("no-such-object")
    assert foreign[0] in ANSWERED_ALL_THE_SAME.get(operation.path, {404})
    assert rows_of(administration, "owner") == before


READABLE: Final = [
    "authentication/config/{config/config}",
    "authentication/executions/{executions/id}",
    "authentication/flows/{flows/alias}/executions",
    "authentication/flows/{flows/id}",
    "client-scopes/{scope_id}/protocol-mappers/models/{mapper_id}",
    "clients/{client_id}",
    "components/{components/id}",
    "groups/{group_id}",
    "roles-by-id/{role_id}",
    "roles/{role_name}",
    "users/{user_id}",
]


@pytest.mark.parametrize("path", READABLE)
def test_what_is_asked_for_would_be_found_in_its_own_realm(owner: Objects, path: str) -> None:
    """Or else nothing is told by not finding it."""
    assert owner.realm.ask("GET", path.format_map(owner.ids)).status_code == 200


def test_a_session_ends_in_its_own_realm(owner: Objects) -> None:
    assert owner.realm.ask("DELETE", f"sessions/{owner.ids['session_id']}").status_code == 204
