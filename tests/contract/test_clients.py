"""Clients in the database."""

from dataclasses import replace

import pytest

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, store_realms


async def test_a_client_comes_back_with_its_secret(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.clients.add(client("device", secret=Secret("s3cret")))
    async with database.read() as stores:
        found = await stores.clients.find_by_client_id("demo-id", "device")
    assert found is not None
    assert (found.id, found.realm_id, found.client_id) == ("device-uuid", "demo-id", "device")
    assert found.secret == Secret("s3cret")


async def test_a_client_without_secret_comes_back_without(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.clients.add(client("device"))
    async with database.read() as stores:
        found = await stores.clients.find_by_client_id("demo-id", "device")
    assert found is not None
    assert found.secret is None


@pytest.mark.parametrize("client_id", ["Device", "device\0", "\ud800", "d" * 300, "dev%"])
async def test_a_client_is_found_by_its_exact_id_only(
    database: SqlDatabase, client_id: str
) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.clients.add(client("device"))
    async with database.read() as stores:
        assert await stores.clients.find_by_client_id("demo-id", client_id) is None


async def test_a_client_id_is_unique_in_its_realm_only(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.clients.add(client("device", of="demo"))
        await stores.clients.add(client("device", of="other"))
    with pytest.raises(AlreadyExists, match=r"^Client device already exists$"):
        async with database.write() as stores:
            await stores.clients.add(client("device", of="demo", id="another"))


async def test_a_client_is_replaced_in_its_own_realm_only(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.clients.add(client("device", of="demo", secret=Secret("old")))
        await stores.clients.add(client("device", of="other", secret=Secret("theirs")))
    async with database.write() as stores:
        await stores.clients.replace(client("device", of="demo", secret=Secret("new")))
    async with database.read() as stores:
        ours = await stores.clients.find_by_client_id("demo-id", "device")
        theirs = await stores.clients.find_by_client_id("other-id", "device")
    assert ours is not None
    assert theirs is not None
    assert (ours.secret, theirs.secret) == (Secret("new"), Secret("theirs"))


async def test_a_client_of_another_realm_cannot_be_replaced(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.clients.add(client("device", of="demo"))
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.clients.replace(replace(client("device"), realm_id="other-id"))


async def test_clients_are_listed_by_id_and_realm(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for name in ("zeta", "alpha"):
            await stores.clients.add(client(name, of="demo"))
        await stores.clients.add(client("theirs", of="other"))
    async with database.read() as stores:
        listed = await stores.clients.list_clients("demo-id")
    assert [found.client_id for found in listed] == ["alpha", "zeta"]


async def test_a_client_needs_a_realm(database: SqlDatabase) -> None:
    with pytest.raises(InvalidInput):
        async with database.write() as stores:
            await stores.clients.add(client("device", of="nowhere"))


async def test_clients_are_found_by_many_names_at_once(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    names = [f"client-{number}" for number in range(2_500)]
    async with database.write() as stores:
        for name in names[::100]:
            await stores.clients.add(client(name))
        await stores.clients.add(client("foreign", of="other"))
    async with database.read() as stores:
        found = await stores.clients.named("demo-id", [*names, "foreign", "\0", "x" * 256])
        assert await stores.clients.named("demo-id", []) == ()
    assert sorted(one.client_id for one in found) == sorted(names[::100])
