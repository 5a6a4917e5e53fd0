"""Keys of names and of security keys in the stores, in new databases and in migrated ones."""

import asyncio
import json
from dataclasses import replace

import pytest
from sqlalchemy import text

from gateway.admin.users import LookAlike, list_look_alikes, store_missing_keys
from gateway.authentication.new_users import NewUser, store_new_user, store_new_users
from gateway.authentication.unique_names import (
    FreeNames,
    NameTaken,
    require_all_free_names,
    require_free_names,
)
from gateway.domain.errors import AlreadyExists
from gateway.domain.unique_names import name_key
from gateway.domain.users import Credential, User
from gateway.domain.web_authn import PASSKEY, SECURITY_KEY
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import credential, realm, store_realms, user

REALM = realm("demo")
OLD = "stra\u00dfe", "strasse"
"""Names of two users that an earlier version stored."""


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    await store_realms(database, "demo", "other")
    return database


async def _found(database: SqlDatabase, name: str, address: str | None = None) -> str | None:
    key = name_key(name)
    found = await database.lookups.account("demo-id", name, address, key=key)
    return None if found is None else found.user.username


async def _execute(database: SqlDatabase, statement: str) -> None:
    async with database.write() as stores:
        await stores.transaction.execute(text(statement))


async def _store_old(database: SqlDatabase) -> None:
    """Store the two users as a migrated database has them: the older one has the key."""
    async with database.write() as stores:
        await stores.users.add(user(OLD[0], email="one@demo.test"))
    await _execute(database, "UPDATE users SET username_key = 'aside'")
    async with database.write() as stores:
        await stores.users.add(user(OLD[1], email="two@demo.test"))
    await _execute(database, "UPDATE users SET username_key = NULL")
    older = "UPDATE users SET username_key = 'strasse' WHERE username <> 'strasse'"
    await _execute(database, older)


async def test_a_name_is_found_exactly_or_by_its_key(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.users.add(user("mike", email="m@demo.test"))
        await stores.users.add(user("stra\u00dfe", email="stra\u00dfe@demo.test"))
    assert await _found(stored, "m\u0131ke") == "mike"
    assert await _found(stored, "strasse") == "stra\u00dfe"
    assert await _found(stored, "strasse@demo.test", "strasse@demo.test") == "stra\u00dfe"
    assert await _found(stored, "strasse@demo.test") is None, "not by address"
    without_key = await stored.lookups.account("demo-id", "strasse", None)
    assert without_key is None, "the name of a certificate is exact"
    other = await stored.lookups.account("other-id", "m\u0131ke", None, key="mike")
    assert other is None


async def test_a_key_of_two_users_finds_neither(stored: SqlDatabase) -> None:
    """One has it as name, the other one as address: an earlier version accepted both."""
    async with stored.write() as stores:
        await stores.users.add(user("mike@demo.test"))
        await stores.users.add(user("other", email="m\u0131ke@demo.test"))
    typed = "\uff4dike@demo.test"
    assert await _found(stored, typed, typed) is None
    assert await _found(stored, "mike@demo.test", "mike@demo.test") == "mike@demo.test"
    assert await _found(stored, "m\u0131ke@demo.test", "m\u0131ke@demo.test") == "other"


async def test_a_key_of_a_former_name_counts_for_nothing(stored: SqlDatabase) -> None:
    """The previous version renames a user during a rolling upgrade, and leaves the key."""
    async with stored.write() as stores:
        await stores.users.add(user("mike"))
    await _execute(stored, "UPDATE users SET username = 'renamed'")
    assert await _found(stored, "m\u0131ke") is None
    assert await _found(stored, "renamed") == "renamed"
    async with stored.write() as stores:
        await require_free_names(stores, REALM, user("m\u0131ke", id="new"))


async def test_users_that_looked_alike_before_keep_their_names(stored: SqlDatabase) -> None:
    await _store_old(stored)
    for name in OLD:
        assert await _found(stored, name) == name
    assert await _found(stored, "stra\u017fse") == OLD[0]
    pair = LookAlike("demo-id", "username", *OLD)
    assert await store_missing_keys(stored) == (pair,)
    async with stored.write() as stores:
        for name in OLD:
            known = await stores.users.find_by_username("demo-id", name)
            assert known is not None
            await stores.users.replace(replace(known, first_name="Ada"))
        with pytest.raises(NameTaken):
            await require_free_names(stores, REALM, user("STRASSE".lower() + "\ufe0f", id="third"))
    async with stored.write() as stores:
        known = await stores.users.find_by_username("demo-id", OLD[0])
        assert known is not None
        await stores.users.remove_user("demo-id", known.id)
    assert await store_missing_keys(stored) == ()
    assert await _found(stored, "stra\u017fse") == OLD[1], "the key is free again"


async def test_users_of_the_previous_version_get_their_keys(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.users.add(user("mike", email="m@demo.test"))
    await _execute(stored, "UPDATE users SET username_key = NULL, email_key = NULL")
    assert await _found(stored, "mike") == "mike"
    assert await _found(stored, "m\u0131ke") is None
    assert await store_missing_keys(stored) == ()
    assert await _found(stored, "m\u0131ke") == "mike"


async def test_users_that_look_alike_keep_no_key_from_others(stored: SqlDatabase) -> None:
    await _store_old(stored)
    async with stored.write() as stores:
        await stores.users.add(user("mike", id="zz-last"))
    await _execute(stored, "UPDATE users SET username_key = NULL WHERE username = 'mike'")
    assert await store_missing_keys(stored, at_once=1)
    assert await _found(stored, "m\u0131ke") == "mike"


async def test_addresses_that_look_alike_are_listed(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        for name, address in (
            ("a", "x@demo.test"),
            ("b", "\uff58@demo.test"),
            ("c", "c@demo.test"),
        ):
            await stores.users.add(user(name, email=address))
        found = await list_look_alikes(stores)
    assert [(one.field, {one.first, one.second}) for one in found] == [
        ("email", {"x@demo.test", "\uff58@demo.test"})
    ]


async def test_many_new_users_are_compared_with_each_other(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.users.add(user("mike", email="mike@demo.test"))
    alike: tuple[tuple[User, ...], ...] = (
        (user("m\u0131ke", id="1"),),
        (user("a"), user("\uff41", id="1")),
        (user("a", email="x@demo.test"), user("b", email="\uff58@demo.test")),
        (user("a", email="x@demo.test"), user("\uff58@demo.test", id="1")),
        (user("x@demo.test", id="1"), user("a", email="\uff58@demo.test")),
        (user("a", email="m\u0131ke@demo.test"),),
    )
    for users in alike:
        async with stored.write() as stores:
            with pytest.raises(NameTaken):
                await require_all_free_names(stores, REALM, users)
    new = tuple(user(f"user-{number}", email=f"{number}@demo.test") for number in range(1_200))
    async with stored.write() as stores:
        names = await require_all_free_names(stores, REALM, new)
        await store_new_users(stores, [NewUser(one) for one in new], names)
        with pytest.raises(ValueError, match="not checked"):
            await store_new_user(stores, NewUser(user("unchecked")), FreeNames(frozenset()))


def _key(owner: str, kind: str = SECURITY_KEY, key_id: str = "AAEC+/8=") -> Credential:
    data = json.dumps({"credentialId": key_id, "credentialPublicKey": "AA", "counter": 0})
    return credential(f"{owner}-uuid", type=kind, credential_data=data, secret_data="{}")


@pytest.mark.parametrize("kind", [SECURITY_KEY, PASSKEY])
async def test_of_two_users_who_register_a_key_at_once_one_does(
    kind: str, stored: SqlDatabase, other_gateway: SqlDatabase
) -> None:
    async with stored.write() as stores:
        await stores.users.add(user("ann"))
        await stores.users.add(user("bob"))

    async def register(database: SqlDatabase, held: Credential) -> bool:
        try:
            async with database.write() as stores:
                await stores.users.set_credential("demo-id", held)
        except AlreadyExists:
            return False
        return True

    done = await asyncio.gather(
        register(stored, _key("ann")), register(other_gateway, _key("bob", kind, "AAEC-_8"))
    )
    assert sorted(done) == [False, True]


async def test_a_key_may_be_registered_again_once_it_was_removed(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.users.add(user("ann"))
        await stores.users.add(user("bob"))
        await stores.users.set_credential("demo-id", _key("ann"))
        await stores.users.set_credential("demo-id", _key("ann", PASSKEY))
    async with stored.write() as stores:
        await stores.users.remove_user("demo-id", "ann-uuid")
        await stores.users.set_credential("demo-id", _key("bob"))
    async with stored.write() as stores:
        await stores.users.add(user("ann", of="other", id="bob-uuid"))
        await stores.users.set_credential("other-id", _key("bob"))
