"""A mail that is asked for costs the same for every name.

Attack: D11. Compared is the processor time of this process and its threads, as for passwords.
"""

import random
import time
from collections.abc import AsyncIterator
from statistics import median

import pytest

from gateway.crypto.realm_keys import PyJwtKeyFactory, PyJwtKeyRing
from gateway.domain.authentication import FormName
from gateway.domain.keys import SecretAlgorithm
from gateway.domain.limits.rate_limits import RESETS_OF_USER
from gateway.domain.realm import Smtp
from gateway.storage.sql.database import SqlDatabase
from tests.support.password_logins import Gateway, store_user
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stepwise_sign_ins import Browser, required, rules, shown
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, realm, store_realms

ROUNDS = 24
"""Of 4 kinds: fewer than an address may ask for in an hour."""
_ALIKE = 1.25
"""More than the noise of a busy machine (measured: 1.04), less than a mail that is not made."""
REALM = realm("demo", smtp=Smtp({"host": "mail.test", "from": "realm@mail.test"}))
FLOW = rules(required("reset-credentials-choose-user"), required("reset-credential-email"))


@pytest.fixture
async def database(
    sqlite_database: StoredDatabase, secrets_at_rest: object
) -> AsyncIterator[SqlDatabase]:
    opened = SqlDatabase(sqlite_database.url, secrets_at_rest)  # type: ignore[arg-type] # the fixture's
    await store_realms(opened, "demo")
    for number in range(ROUNDS):
        await store_user(opened, f"known-{number}")
        await store_user(opened, f"disabled-{number}", enabled=False)
        await store_user(opened, f"silent-{number}", email=None)
    yield opened
    await opened.dispose()


@pytest.fixture
async def gateway(database: SqlDatabase, redis_server: RedisServer) -> AsyncIterator[Gateway]:
    opened = Gateway(database, redis_server, SetClock(NOW))
    yield opened
    await opened.close()


KINDS = ("known", "disabled", "silent", "nobody")
_REPEATED = 18
"""Requests for each name beyond its limit, within the limit of their network."""


async def _seconds_of_reset(gateway: Gateway, name: str, ring: PyJwtKeyRing) -> float:
    """Ask for a mail; return the processor time of the last step."""
    browser = Browser(gateway, realm=REALM, sign_in=FLOW)
    browser.keys = ring
    await browser.begin()
    begin = time.process_time()
    step = await browser.submit(username=name)
    taken = time.process_time() - begin
    assert shown(step) == (FormName.RESET_MAIL_SENT, "emailSentMessage")
    return taken


def _ring() -> PyJwtKeyRing:
    factory = PyJwtKeyFactory()
    return factory.ring((factory.generate("demo-id", "demo", SecretAlgorithm.HS512, NOW),))


async def test_a_mail_costs_the_same_for_every_name(
    database: SqlDatabase, gateway: Gateway
) -> None:
    """As many rows are written too: to wait for the disk costs no processor time. attacks: D11."""
    written, ring = await database.changes.newest(), _ring()
    costs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(ROUNDS):
        for kind in random.sample(KINDS, len(KINDS)):
            costs[kind].append(await _seconds_of_reset(gateway, f"{kind}-{number}", ring))
    medians = {kind: median(taken) for kind, taken in costs.items()}
    assert max(medians.values()) < _ALIKE * min(medians.values()), medians
    async with database.read() as stores:
        waiting = await stores.mails.list_deliveries("demo-id", 0, 1_000)
    assert len(waiting) == ROUNDS, "users who have an address get a mail, and no one else"
    assert await database.changes.newest() == written + ROUNDS * (len(KINDS) - 1)


async def test_beyond_the_limit_of_a_mailbox_every_name_costs_the_same(
    database: SqlDatabase, gateway: Gateway, redis_server: RedisServer
) -> None:
    """Processor time, commands of Redis, and rows that are written. attacks: D11."""
    ring = _ring()
    for kind in KINDS:
        for _ in range(RESETS_OF_USER.of_network):
            await _seconds_of_reset(gateway, f"{kind}-0", ring)
    written = await database.changes.newest()
    costs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    commands: dict[str, set[tuple[tuple[str, int], ...]]] = {kind: set() for kind in KINDS}
    for _ in range(_REPEATED):
        for kind in random.sample(KINDS, len(KINDS)):
            with redis_server.client() as plain:
                plain.config_resetstat()
                costs[kind].append(await _seconds_of_reset(gateway, f"{kind}-0", ring))
                counted = plain.info("commandstats")
            # Whether the time of a key is set again depends on milliseconds.
            counts = {
                name: stats["calls"] for name, stats in counted.items() if name != "cmdstat_pexpire"
            }
            commands[kind].add(tuple(sorted(counts.items())))
    medians = {kind: median(taken) for kind, taken in costs.items()}
    assert max(medians.values()) < _ALIKE * min(medians.values()), medians
    assert len(set(map(frozenset, commands.values()))) == 1, commands
    assert await database.changes.newest() == written + _REPEATED * len(KINDS)
    async with database.read() as stores:
        waiting = await stores.mails.list_deliveries("demo-id", 0, 1_000)
    assert len(waiting) == RESETS_OF_USER.of_network
