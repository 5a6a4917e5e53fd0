"""A page that asks a named user for a key costs the same for every name.

Attack: D11. Compared is the processor time of this process and its threads, as for passwords.
"""

import json
import random
import sys
import time
from collections.abc import AsyncIterator
from statistics import median
from types import FrameType

import pytest

from gateway.authentication.web_authn import KeyDecoys
from gateway.domain import base64url
from gateway.domain.authentication import FormName
from gateway.domain.web_authn import PASSKEY
from gateway.storage.sql.database import SqlDatabase
from tests.support.password_logins import Gateway, store_user
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stepwise_sign_ins import Browser, required, rules
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, credential, realm, store_realms

ROUNDS = 60
KINDS = ("with-passkey", "without", "disabled", "nobody")
_ALIKE = 1.25
"""More than the noise of a busy machine, less than a query or the parsing of a page."""
REALM = realm("demo")
FLOW = rules(required("auth-username-form"), required("webauthn-authenticator-passwordless"))


@pytest.fixture
async def gateway(
    sqlite_database: StoredDatabase, secrets_at_rest: object, redis_server: RedisServer
) -> AsyncIterator[Gateway]:
    database = SqlDatabase(sqlite_database.url, secrets_at_rest)  # type: ignore[arg-type] # the fixture's
    await store_realms(database, "demo")
    for kind in KINDS[:-1]:
        stored = await store_user(database, kind, enabled=kind != "disabled")
        if kind != "with-passkey":
            continue
        key = {
            "credentialId": base64url.encode(bytes(32)),
            "credentialPublicKey": base64url.encode(bytes(77)),
            "counter": 0,
            "transports": ["internal"],
        }
        held = credential(stored.id, type=PASSKEY, credential_data=json.dumps(key))
        async with database.write() as stores:
            await stores.users.set_credential("demo-id", held)
    opened = Gateway(database, redis_server, SetClock(NOW))
    yield opened
    await opened.close()
    await database.dispose()


async def test_a_page_with_keys_costs_the_same_for_every_name(gateway: Gateway) -> None:
    costs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind in random.sample(KINDS, len(KINDS)):
            browser = Browser(gateway, realm=REALM, sign_in=FLOW)
            await browser.begin()
            begin = time.process_time()
            step = await browser.submit(username=kind)
            costs[kind].append(time.process_time() - begin)
            assert step.challenge.form is FormName.SECURITY_KEY
            assert step.challenge.assertion is not None
            assert step.challenge.assertion.keys
    medians = {kind: median(taken) for kind, taken in costs.items()}
    assert max(medians.values()) < _ALIKE * min(medians.values()), medians
    for kind in KINDS[1:]:
        pairs = zip(costs["with-passkey"], costs[kind], strict=True)
        slower = sum(with_key > without for with_key, without in pairs)
        assert ROUNDS // 10 < slower < ROUNDS - ROUNDS // 10, (kind, slower, medians)


async def test_decoys_are_derived_for_every_name_alike(gateway: Gateway) -> None:
    """Deriving them takes less than the noise of a page, and many pages would show it."""
    code, derived = KeyDecoys.keys.__code__, dict.fromkeys(KINDS, 0)
    for kind in KINDS:
        browser = Browser(gateway, realm=REALM, sign_in=FLOW)
        await browser.begin()

        def count(frame: FrameType, event: str, _: object, kind: str = kind) -> None:
            derived[kind] += event == "call" and frame.f_code is code

        sys.setprofile(count)
        try:
            await browser.submit(username=kind)
        finally:
            sys.setprofile(None)
    assert derived == dict.fromkeys(KINDS, 1)
