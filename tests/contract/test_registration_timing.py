"""Where addresses are verified, a registration costs the same for every address."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

import pytest

from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.authentication import FormName
from gateway.domain.flows import rules_in
from gateway.domain.keys import SecretAlgorithm
from gateway.domain.realm import LoginSettings, Smtp
from gateway.storage.sql.database import SqlDatabase
from tests.support.password_logins import Gateway, guarded_realm, store_user
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stepwise_sign_ins import Browser, shown
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, realm, store_realms

REALM = realm(
    "demo",
    smtp=Smtp({"host": "mail.test", "from": "realm@mail.test"}),
    password_policy=guarded_realm().password_policy,
    login=LoginSettings(registration_allowed=True, verify_email=True),
)
WORD: Final = "a long new word 4"
FORM: Final = {
    "firstName": "Ada",
    "lastName": "Lovelace",
    "password": WORD,
    "password-confirm": WORD,
}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is written from now on: each insert with its table, and each commit."""
    found: list[str] = []
    connect = sqlite3.connect

    def note(statement: str) -> None:
        if statement.startswith(("INSERT", "COMMIT")):
            found.append(" ".join(statement.split()[:3]))

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **named)
        connection.set_trace_callback(note)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return found


@pytest.fixture
async def database(
    sqlite_database: StoredDatabase, secrets_at_rest: object, written: list[str]
) -> AsyncIterator[SqlDatabase]:
    del written  # fills from the first connection on
    opened = SqlDatabase(sqlite_database.url, secrets_at_rest)  # type: ignore[arg-type] # the fixture's
    await store_realms(opened, "demo")
    await store_user(opened, "owner", email="known@mail.test")
    yield opened
    await opened.dispose()


@pytest.fixture
async def gateway(database: SqlDatabase, redis_server: RedisServer) -> AsyncIterator[Gateway]:
    opened = Gateway(database, redis_server, SetClock(NOW))
    yield opened
    await opened.close()


async def test_a_taken_address_causes_as_many_writes_as_a_free_one(
    gateway: Gateway, written: list[str]
) -> None:
    """Attack: D11. To store an account takes most of the time of a registration."""
    secret = PyJwtKeyFactory().generate("demo-id", "demo", SecretAlgorithm.HS512, NOW)
    rules = rules_in(REALM.id, REALM.flows, {}, {}, {})
    rules = replace(rules, browser=rules.registration)
    done = {}
    for name in ("known", "new"):
        browser = Browser(gateway, realm=REALM, sign_in=rules)
        browser.keys = PyJwtKeyFactory().ring((secret,))
        await browser.begin()
        written.clear()
        step = await browser.submit(**FORM, username=name, email=f"{name}@mail.test")
        assert shown(step)[0] is FormName.REGISTERED
        done[name] = tuple(written)
    assert done["known"] == done["new"]
    assert {"INSERT INTO users", "INSERT INTO mails", "COMMIT"} <= {*done["known"]}
