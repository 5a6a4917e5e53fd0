"""A recovery code over the real stores: of many who send it at once, one is let in."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine import Challenged
from gateway.authentication.recovery_codes import (
    RecoveryCodeCheck,
    new_recovery_codes,
    new_recovery_codes_credential,
)
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.authentication import FormName
from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential
from gateway.storage.sql.database import SqlDatabase
from tests.support.password_logins import RULES, Gateway, guarded_realm, store_user
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stepwise_sign_ins import Browser, required, rules
from tests.support.stored_values import NOW, credential, store_realms

REALM = guarded_realm(replace(RULES, failure_factor=100))
FLOW = rules(required("auth-username-password-form"), required("auth-recovery-authn-code-form"))
CODES = new_recovery_codes()


@pytest.fixture
async def gateways(
    database: SqlDatabase, redis_server: RedisServer
) -> AsyncIterator[tuple[Gateway, ...]]:
    """Return two gateways on the same stores."""
    opened = tuple(Gateway(database, redis_server, SetClock(NOW)) for _ in range(2))
    yield opened
    for one in opened:
        await one.close()


async def _store(database: SqlDatabase) -> Credential:
    await store_realms(database, "demo")
    await store_user(database)
    made = new_recovery_codes_credential("alice-uuid", CODES, (), datetime(2026, 1, 1, tzinfo=UTC))
    async with database.write() as stores:
        await stores.users.set_credential(REALM.id, made)
    return made


async def test_a_recovery_code_is_taken_once_by_all_gateways(
    database: SqlDatabase, gateways: tuple[Gateway, ...]
) -> None:
    await _store(database)
    browsers = [Browser(gateways[place % 2], realm=REALM, sign_in=FLOW) for place in range(6)]
    for browser in browsers:
        await browser.begin()
        step = await browser.log_in()
        assert isinstance(step, Challenged)
        assert step.challenge.form is FormName.RECOVERY_CODE
    steps = await asyncio.gather(
        *(browser.submit(recoveryCodeInput=CODES[0]) for browser in browsers)
    )
    accepted = [type(step).__name__ for step in steps].count("SignedIn")
    assert accepted == 1
    async with database.read() as stores:
        [held] = [
            one
            for one in await stores.users.credentials(REALM.id, "alice-uuid")
            if one.type == "recovery-authn-codes"
        ]
    assert json.loads(held.credential_data)["remainingCodes"] == len(CODES) - 1


async def test_the_recovery_code_of_a_locked_user_is_not_used_up(
    database: SqlDatabase, gateways: tuple[Gateway, ...]
) -> None:
    held = await _store(database)
    checks = RecoveryCodeCheck(AccountUpdates(database, gateways[0].invalidation, SetClock(NOW)))
    entry = RealmEntry(REALM, PyJwtKeyFactory().ring(()), sign_in=FLOW)
    for admitted in (False, True):
        user = await checks.use(entry, held, Secret(CODES[0]), admitted=admitted)
        assert (user is not None) is admitted


@pytest.mark.parametrize("stored", ["", "[]", "{}", '{"codes":[{"number":1}]}', '{"codes":7}'])
async def test_codes_that_cannot_be_read_are_no_codes_of_anyone(
    database: SqlDatabase, gateways: tuple[Gateway, ...], stored: str
) -> None:
    checks = RecoveryCodeCheck(AccountUpdates(database, gateways[0].invalidation, SetClock(NOW)))
    entry = RealmEntry(REALM, PyJwtKeyFactory().ring(()), sign_in=FLOW)
    held = credential(type="recovery-authn-codes", secret_data=stored)
    with pytest.raises(SecretUnreadable):
        await checks.use(entry, held, Secret(""), admitted=True)
