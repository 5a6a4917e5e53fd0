"""Signing keys and revoked tokens in the database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import text

from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.domain.errors import AlreadyExists, InvalidInput, SecretUnreadable
from gateway.domain.keys import KeyProvider, KeyStatus, SignatureAlgorithm
from gateway.domain.ports.lookups import MOST_EXCHANGES
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase, SqlStores
from tests.support.storage import StoredDatabase
from tests.support.stored_values import (
    NOW,
    client,
    credential,
    key,
    realm_with_mail,
    store_realms,
    user,
)


async def test_keys_come_back_newest_first_and_of_their_realm_only(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    old, new = key("old"), key("new", created_at=NOW + timedelta(microseconds=1))
    async with database.write() as stores:
        await stores.keys.add(old)
        await stores.keys.add(new)
        await stores.keys.add(key("old", of="other", private_key=Secret("theirs")))
    async with database.read() as stores:
        assert await stores.keys.list_keys("demo-id") == (new, old)


async def test_a_kid_is_unique_in_its_realm(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.keys.add(key("kid-1"))
    with pytest.raises(AlreadyExists):
        async with database.write() as stores:
            await stores.keys.add(key("kid-1", id="another"))


async def test_replacing_a_key_changes_its_standing_and_nothing_else(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo")
    retired = key(
        "kid-1", status=KeyStatus.PASSIVE, active_from=NOW, retire_at=NOW + timedelta(hours=1)
    )
    async with database.write() as stores:
        await stores.keys.add(key("kid-1"))
        await stores.keys.replace(replace(retired, private_key=Secret("swapped")))
    async with database.read() as stores:
        assert await stores.keys.list_keys("demo-id") == (retired,)


async def test_what_is_set_of_a_key_comes_back_by_both_ways_of_reading(
    database: SqlDatabase,
) -> None:
    """Endpoints read keys with their realm, in one question; administrators by themselves."""
    await store_realms(database, "demo")
    made = key(
        name="mine",
        provider=KeyProvider.RSA,
        priority=-7,
        config={"algorithm": "RS256", "certificate": 'ü"\n'},
    )
    async with database.write() as stores:
        await stores.keys.add(made)
    async with database.read() as stores:
        assert await stores.keys.list_keys("demo-id") == (made,)
    found = await database.lookups.realm("demo")
    assert found is not None
    assert found.value.keys == (made,)


async def test_a_key_is_exchanged_with_its_material(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    other = replace(
        key("kid-1"),
        kid="kid-2",
        algorithm=SignatureAlgorithm.ES256,
        private_key=Secret("another"),
        certificate=None,
        priority=5,
    )
    async with database.write() as stores:
        await stores.keys.add(key("kid-1"))
        await stores.keys.replace(other, material=True)
    async with database.read() as stores:
        assert await stores.keys.list_keys("demo-id") == (other,)


async def test_a_key_that_was_removed_is_gone_and_no_other(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for each in (key("kid-1"), key("kid-2"), key("kid-1", of="other")):
            await stores.keys.add(each)
        assert await stores.keys.remove_key("demo-id", "kid-1-id")
        assert not await stores.keys.remove_key("demo-id", "kid-1-id")
    async with database.read() as stores:
        assert await stores.keys.list_keys("demo-id") == (key("kid-2"),)
        assert await stores.keys.list_keys("other-id") == (key("kid-1", of="other"),)


async def test_a_key_of_another_realm_cannot_be_replaced(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.keys.add(key("kid-1"))
    for material in (False, True):
        with pytest.raises(InvalidInput):
            async with database.write() as stores:
                await stores.keys.replace(key("kid-1", of="other"), material=material)


async def test_instants_keep_microseconds_and_return_in_utc(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo")
    elsewhere = datetime(2026, 7, 1, 3, 0, 0, 999999, tzinfo=timezone(timedelta(hours=5.5)))
    async with database.write() as stores:
        await stores.keys.add(key("kid-1", created_at=elsewhere))
    async with database.read() as stores:
        (found,) = await stores.keys.list_keys("demo-id")
    assert found.created_at == elsewhere
    assert found.created_at.tzinfo is UTC


async def test_a_revoked_token_is_revoked_in_its_own_realm_only(database: SqlDatabase) -> None:
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        await stores.revocations.revoke("demo-id", "jti-1", NOW)
        await stores.revocations.revoke("demo-id", "jti-1", NOW)
    assert await database.lookups.is_revoked("demo-id", "jti-1")
    assert not await database.lookups.is_revoked("demo-id", "jti-2")
    assert not await database.lookups.is_revoked("demo-id", "jti-1\0")
    assert not await database.lookups.is_revoked("other-id", "jti-1")


@pytest.mark.parametrize("length", [1, 2, 3, MOST_EXCHANGES + 1])
async def test_a_chain_of_tokens_ends_with_each_of_its_ids(
    database: SqlDatabase, length: int
) -> None:
    """Two of the ids, or all, may be revoked; another realm has the same ids."""
    await store_realms(database, "demo", "other")
    ids = tuple(f"jti-{place}" for place in range(length))
    lookups = database.lookups
    assert not await lookups.is_revoked("demo-id", *ids)
    for place in range(length):
        async with database.write() as stores:
            await stores.revocations.revoke("demo-id", ids[place], NOW)
        assert await lookups.is_revoked("demo-id", *ids)
        assert (await lookups.token_state("demo-id", ids, 0)).revoked
        assert not (await lookups.token_state("other-id", ids, 0)).revoked
        later = ("another\0", *ids[place + 1 :])
        assert not await lookups.is_revoked("demo-id", *later)
        assert not (await lookups.token_state("demo-id", later, 0)).revoked
    with pytest.raises(ValueError, match="too many"):
        await lookups.is_revoked("demo-id", *map(str, range(MOST_EXCHANGES + 2)))


async def test_a_revocation_is_forgotten_after_its_later_expiry(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.revocations.revoke("demo-id", "short", NOW)
        await stores.revocations.revoke("demo-id", "long", NOW + timedelta(hours=1))
        await stores.revocations.revoke("demo-id", "long", NOW)
        assert await stores.revocations.purge(NOW) == 0
        assert await stores.revocations.purge(NOW + timedelta(seconds=1)) == 1
    assert await database.lookups.is_revoked("demo-id", "long")
    assert not await database.lookups.is_revoked("demo-id", "short")


async def _store_secrets(database: SqlDatabase) -> None:
    async with database.write() as stores:
        await stores.realms.add(realm_with_mail(password="mail-canary"))
        await stores.clients.add(client("device", secret=Secret("client-canary")))
        await stores.users.add(user("alice"))
        await stores.users.set_credential("demo-id", credential(secret_data="hash-canary"))
        await stores.keys.add(key("kid-1", private_key=Secret("key-canary")))


async def test_no_secret_can_be_read_in_the_raw_database(
    database: SqlDatabase, stored_database: StoredDatabase
) -> None:
    await _store_secrets(database)
    raw = stored_database.dump()
    assert b"kid-1" in raw
    assert b"canary" not in raw


_MOVES = {
    "client secret": "UPDATE clients SET secret = {} WHERE client_id = 'second'",
    "signing key": "UPDATE realm_keys SET private_key = {} WHERE kid = 'kid-2'",
    "credential": "UPDATE credentials SET secret_data = {} WHERE id = 'second'",
    "mail password": "UPDATE realms SET smtp_password = {} WHERE name = 'other'",
    "mail token secret": "UPDATE realms SET smtp_token_secret = {} WHERE name = 'other'",
    "webhook secret": "UPDATE realms SET webhook_secret = {} WHERE name = 'other'",
}
_SOURCES = {
    "client secret": "(SELECT secret FROM clients WHERE client_id = 'device')",
    "signing key": "(SELECT private_key FROM realm_keys WHERE kid = 'kid-1')",
    "credential": "(SELECT secret_data FROM credentials WHERE id = 'first')",
    "mail password": "(SELECT smtp_password FROM realms WHERE name = 'demo')",
    "mail token secret": "(SELECT smtp_token_secret FROM realms WHERE name = 'demo')",
    "webhook secret": "(SELECT webhook_secret FROM realms WHERE name = 'demo')",
}


@pytest.mark.parametrize("what", _MOVES)
async def test_a_secret_moved_to_another_row_does_not_open(
    database: SqlDatabase, what: str
) -> None:
    """Whoever can write to the database cannot give a client a secret that they know."""
    await _store_secrets(database)
    async with database.write() as stores:
        await stores.realms.add(realm_with_mail("other"))
        await stores.clients.add(client("second", secret=Secret("x")))
        await stores.keys.add(key("kid-2"))
        await stores.users.set_credential("demo-id", credential(id="first"))
        await stores.users.set_credential("demo-id", credential(id="second"))
        await _read_all(stores)
        await stores.transaction.execute(text(_MOVES[what].format(_SOURCES[what])))
    with pytest.raises(SecretUnreadable):
        async with database.read() as stores:
            await _read_all(stores)


async def _read_all(stores: SqlStores) -> None:
    await stores.realms.list_realms()
    await stores.clients.list_clients("demo-id")
    await stores.keys.list_keys("demo-id")
    await stores.users.credentials("demo-id", "alice-uuid")


async def test_another_encryption_key_opens_nothing(
    database: SqlDatabase, stored_database: StoredDatabase
) -> None:
    await _store_secrets(database)
    other = SqlDatabase(stored_database.url, AesGcmSecrets((b"o" * 32,)))
    with pytest.raises(SecretUnreadable):
        async with other.read() as stores:
            await stores.keys.list_keys("demo-id")
    await other.dispose()
