"""Operators who change a realm's keys at the same time, on two gateways: both databases."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from gateway.admin.access.rights import operator
from gateway.admin.changes import Changes
from gateway.admin.key_rotation import RealmKeys
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.keys import KeyStatus, RealmKey, SignatureAlgorithm, signing_key
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.password_logins import RememberedTopics
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, realm

ES256 = SignatureAlgorithm.ES256
ACTING = operator(realm("demo", default_signature_algorithm=ES256))


def _keys(database: SqlDatabase) -> RealmKeys:
    changes = Changes(database, SetClock(NOW), RememberedTopics())
    return RealmKeys(changes, PyJwtKeyFactory())


async def _store(database: SqlDatabase, count: int) -> list[RealmKey]:
    async with database.write() as stores:
        await stores.realms.add(realm("demo", default_signature_algorithm=ES256))
        made = [PyJwtKeyFactory().generate("demo-id", "demo", ES256, NOW) for _ in range(count)]
        for key in made:
            await stores.keys.add(key)
    return made


async def _stored(database: SqlDatabase) -> tuple[RealmKey, ...]:
    async with database.read() as stores:
        return await stores.keys.list_keys("demo-id")


async def test_disabling_both_keys_at_once_leaves_one_that_signs(
    database: SqlDatabase, other_gateway: SqlDatabase
) -> None:
    """Each sees the other's key before it is gone, and would make no successor."""
    first, second = await _store(database, 2)
    await asyncio.gather(
        _keys(database).disable_key(ACTING, first.kid),
        _keys(other_gateway).disable_key(ACTING, second.kid),
    )
    stored = {key.kid: key.status for key in await _stored(database)}
    assert stored[first.kid] is stored[second.kid] is KeyStatus.DISABLED
    assert signing_key(await _stored(database), ES256, NOW) is not None


async def test_a_key_disabled_during_a_rotation_stays_disabled(
    database: SqlDatabase, other_gateway: SqlDatabase, somebody_waits: Callable[[], bool]
) -> None:
    """A rotation writes what it has read: nobody may disable the key in between."""
    (key,) = await _store(database, 1)
    async with database.write() as stores:
        (found,) = await stores.keys.list_for_update("demo-id")
        disabling = asyncio.create_task(_keys(other_gateway).disable_key(ACTING, key.kid))
        await eventually(lambda: somebody_waits() or disabling.done())
        await stores.keys.replace(replace(found, retire_at=NOW + timedelta(1)))
    await disabling
    (disabled,) = (one for one in await _stored(database) if one.kid == key.kid)
    assert (disabled.status, disabled.retire_at) == (KeyStatus.DISABLED, NOW + timedelta(1))
    assert signing_key(await _stored(database), ES256, NOW) is not None
