"""Users by the million: in batches, each stored as a whole, the known ones left alone."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from gateway.admin.realm_files import user_import
from gateway.admin.realm_files.user_import import ImportProgress, UserImport
from gateway.domain.errors import InvalidInput, RealmNotFound
from gateway.representations.json_input import StreamedObject
from tests.support.realm_imports import ACME, Imports
from tests.support.realm_texts import export_realm


async def stream(imports: Imports, users: Iterable[Any], **how: Any) -> ImportProgress:
    objects = [StreamedObject(number, item, number) for number, item in enumerate(users, 1)]
    importing = UserImport(
        database=imports.database, passwords=imports.passwords, clock=imports.clock
    )
    return await importing.run("acme", objects, **how)


async def names(imports: Imports) -> set[str]:
    async with imports.database.read() as stores:
        return {user.username for user in await stores.users.list_users("acme")}


def people(*numbers: int) -> list[dict[str, Any]]:
    return [{"username": f"u{number}", "enabled": True} for number in numbers]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_import, "BATCH", 3)


@pytest.fixture
async def acme(imports_everywhere: Imports) -> Imports:
    await imports_everywhere.run(ACME)
    return imports_everywhere


@pytest.mark.usefixtures("small_batches")
async def test_every_user_is_added_once_and_known_ones_are_left_alone(acme: Imports) -> None:
    seen: list[ImportProgress] = []
    users = [{"username": "alice", "enabled": False}, *people(*range(7))]
    done = await stream(acme, users, progress=seen.append)
    assert (done.added, done.known, done.refused, done.read) == (7, 1, 0, 8)
    assert [state.read for state in seen] == [3, 6, 8]
    assert (await acme.user("alice")).enabled
    again = await stream(acme, users)
    assert (again.added, again.known) == (0, 8)


async def test_the_users_of_an_export_are_the_same_elsewhere(acme: Imports) -> None:
    exported = json.loads(await export_realm(acme.database, "acme", include_secrets=True))
    moved = [
        {**user, "username": f"new-{user['username']}", "id": f"new-{user['id']}"}
        for user in exported["users"]
        if "serviceAccountClientId" not in user
    ]
    for user in moved:
        for credential in user["credentials"]:
            credential["id"] = f"new-{credential['id']}"
    await stream(acme, moved)
    assert await acme.password_is("new-alice", "alice-canary")
    assert (await acme.roles("new-alice")).realm == ("boss", "worker")
    async with acme.database.read() as stores:
        (before,) = await stores.users.credentials("acme", (await acme.user("alice")).id)
        (after,) = await stores.users.credentials("acme", (await acme.user("new-alice")).id)
    assert replace(after, id=before.id, user_id=before.user_id) == before


async def test_a_service_account_comes_with_its_client_only(acme: Imports) -> None:
    account = {"username": "service-account-x", "serviceAccountClientId": "page"}
    done = await stream(acme, [account])
    assert (done.added, done.known) == (0, 1)
    assert "service-account-x" not in await names(acme)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"username": "u5", "email": 7}, "users[5].email"),
        ({"username": "u5", "realmRoles": ["nobody"]}, "users[5].realmRoles"),
        ({"username": "u5", "attributes": {"a": ["\ud800"]}}, "users[5].attributes.a[0]"),
        (["u5"], "users[5]"),
        ({"username": "u5", "id": "taken"}, "users[5]"),
    ],
)
async def test_a_wrong_user_is_named_and_ends_the_import_or_is_skipped(
    acme: Imports, wrong: Any, path: str
) -> None:
    users = [{"username": "first", "id": "taken"}, *people(2, 3, 4), wrong, *people(6, 7)]
    with pytest.raises(InvalidInput) as refusal:
        await stream(acme, users)
    assert [error.path for error in refusal.value.errors] == [path]
    assert {"first", "u3"} <= await names(acme)
    assert not {"u4", "u6", "u7"} & await names(acme)
    refused: list[InvalidInput] = []
    done = await stream(acme, users, refuse=refused.append)
    assert (done.added, done.known, done.refused) == (3, 3, 1)
    assert [error.path for item in refused for error in item.errors] == [path]
    assert {"u4", "u6", "u7"} <= await names(acme)


async def test_an_unknown_realm_is_told(acme: Imports) -> None:
    importing = UserImport(database=acme.database, passwords=acme.passwords, clock=acme.clock)
    with pytest.raises(RealmNotFound):
        await importing.run("nobody", [])
