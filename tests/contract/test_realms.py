"""Realms in the database."""

from dataclasses import replace

import pytest

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import realm, realm_with_mail, store_realms


async def test_a_realm_comes_back_as_it_was_stored(database: SqlDatabase) -> None:
    stored = realm("demo", display_name="Ångström \u202e 😀", unmodelled={"zebra": 1, "apple": [2]})
    async with database.write() as stores:
        await stores.realms.add(stored)
    async with database.read() as stores:
        found = await stores.realms.find_by_name("demo")
    assert found == stored
    assert list(found.unmodelled) == ["zebra", "apple"]


async def test_the_secrets_of_the_mail_server_come_back(database: SqlDatabase) -> None:
    async with database.write() as stores:
        await stores.realms.add(realm_with_mail(password="secret-of-mail"))
    async with database.read() as stores:
        found = await stores.realms.find_by_name("demo")
    assert found is not None
    assert found.smtp.password == Secret("secret-of-mail")
    assert found.smtp.token_secret == Secret("canary-token")


async def test_a_default_role_of_another_name_comes_back(database: SqlDatabase) -> None:
    renamed = realm("demo").named("renamed")
    async with database.write() as stores:
        await stores.realms.add(renamed)
    async with database.read() as stores:
        found = await stores.realms.find_by_name("renamed")
    assert found == renamed
    assert found.default_role_name == "default-roles-demo"


async def test_realms_are_listed_by_name(database: SqlDatabase) -> None:
    await store_realms(database, "zeta", "alpha", "master")
    async with database.read() as stores:
        assert [found.name for found in await stores.realms.list_realms()] == [
            "alpha",
            "master",
            "zeta",
        ]


@pytest.mark.parametrize("name", ["DEMO", "demo ", "dem%", "dem_", "", "demo\0", "\ud800"])
async def test_a_realm_is_found_by_its_exact_name_only(database: SqlDatabase, name: str) -> None:
    await store_realms(database, "demo")
    async with database.read() as stores:
        assert await stores.realms.find_by_name(name) is None
        assert await stores.realms.find_by_name("demo") is not None


async def test_a_second_realm_of_the_same_name_is_refused(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    with pytest.raises(AlreadyExists, match=r"^Realm demo already exists$"):
        async with database.write() as stores:
            await stores.realms.add(realm("demo", id="another"))


async def test_a_realm_may_be_renamed_to_a_free_name_only(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    with pytest.raises(AlreadyExists, match=r"^Realm other already exists$"):
        async with database.write() as stores:
            await stores.realms.replace(replace(realm("demo"), name="other"))
    async with database.write() as stores:
        await stores.realms.replace(replace(realm("demo"), name="renamed"))
    async with database.read() as stores:
        assert await stores.realms.find_by_name("demo") is None
        renamed = await stores.realms.find_by_name("renamed")
    assert renamed is not None
    assert renamed.id == "demo-id"


async def test_a_realm_that_is_not_there_cannot_be_replaced(database: SqlDatabase) -> None:
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.realms.replace(realm("ghost"))


@pytest.mark.parametrize("name", ["a\0b", "a\udc80", "x" * 256])
async def test_what_one_database_could_not_hold_is_bad_input_on_both(
    database: SqlDatabase, name: str
) -> None:
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.realms.add(realm(name, id="fine"))


async def test_the_longest_name_can_be_stored(database: SqlDatabase) -> None:
    name = "😀" * 255
    async with database.write() as stores:
        await stores.realms.add(realm(name, id="fine"))
    async with database.read() as stores:
        assert await stores.realms.find_by_name(name) is not None
