"""Consents on both databases. Keycloak: UserConsentModel."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.consents import Consent
from gateway.domain.errors import InvalidInput
from gateway.storage.sql.database import SqlDatabase
from tests.support.sessions import store_owners
from tests.support.stored_values import NOW

CONSENT = Consent("demo-id", "alice-uuid", "device-uuid", ("email", "profile"), NOW, NOW)
LATER = NOW + timedelta(minutes=1)


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    await store_owners(database)
    async with database.write() as stores:
        await stores.consents.put(CONSENT)
    return database


async def test_a_consent_is_stored_and_its_scopes_are_replaced(stored: SqlDatabase) -> None:
    wider = replace(CONSENT, scopes=("email", "phone"), created_at=LATER, updated_at=LATER)
    async with stored.write() as stores:
        assert await stores.consents.find("demo-id", "alice-uuid", "device-uuid") == CONSENT
        await stores.consents.put(wider)
    async with stored.read() as stores:
        found = await stores.consents.find("demo-id", "alice-uuid", "device-uuid")
        assert found == replace(wider, created_at=NOW)


async def test_the_consents_of_a_user_are_listed_oldest_first(stored: SqlDatabase) -> None:
    second = replace(CONSENT, client="browser-uuid", created_at=LATER)
    async with stored.write() as stores:
        await stores.consents.put(second)
        await stores.consents.put(replace(CONSENT, user_id="bob-uuid"))
        assert await stores.consents.of_user("demo-id", "alice-uuid") == (CONSENT, second)
        assert await stores.consents.of_user("other-id", "alice-uuid") == ()


async def test_a_removed_consent_is_gone(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        assert not await stores.consents.remove("demo-id", "bob-uuid", "device-uuid")
        assert await stores.consents.remove("demo-id", "alice-uuid", "device-uuid")
        assert not await stores.consents.remove("demo-id", "alice-uuid", "device-uuid")
        assert await stores.consents.find("demo-id", "alice-uuid", "device-uuid") is None


async def test_a_consent_goes_with_its_client(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.clients.remove("demo-id", "device-uuid")
        assert await stores.consents.of_user("demo-id", "alice-uuid") == ()


async def test_a_user_of_another_realm_consents_to_nothing(stored: SqlDatabase) -> None:
    with pytest.raises(InvalidInput):
        async with stored.write() as stores:
            await stores.consents.put(replace(CONSENT, user_id="ghost"))
