"""kill -9 at any moment: what was acknowledged is there afterwards. Attacks F9, F15, S12, S13.

Some people sign in, refresh, revoke and log out while whatever stores their words is killed again
and again; each of them writes down what was acknowledged, and in the end the journal is compared.
"""

import json
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.gateway_process import Gateway, is_running, start_gateway, until
from tests.support.postgres import PostgresServer
from tests.support.wire import CHEAP, PASSWORD, SECRET, app, audience, client, protocol, user

KILLS = 6
PEOPLE = ("ada", "bert", "cleo")
SVC = {"client_id": "svc", "client_secret": SECRET}
REALM = {
    "realm": "r",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "revokeRefreshToken": True,
    "users": [user(name) for name in PEOPLE],
    "clients": [client("svc", protocolMappers=[audience("svc")]), app("app")],
}


@dataclass(slots=True)
class Journal:
    """What one person was told: tokens by what must be true of them."""

    revoked: list[str] = field(default_factory=list)
    valid: list[str] = field(default_factory=list)
    usable: list[str] = field(default_factory=list)
    spent: list[str] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        """Count the writes that were acknowledged."""
        return len(self.revoked) + len(self.usable) + len(self.spent)


class NotAcknowledged(Exception):
    """The request broke off, or was told to come again."""


class Person(threading.Thread):
    """Uses the gateway until stopped, and keeps a journal."""

    def __init__(self, gateway: Gateway, username: str) -> None:
        super().__init__()
        self._gateway, self._username = gateway, username
        self._enough = threading.Event()
        self.journal = Journal()

    def run(self) -> None:
        """Do one thing after the other; who learns nothing waits until it works again."""
        while not self._enough.is_set():
            try:
                with self._gateway.client() as http:
                    self._revoke(http)
                    self._keep(http)
                    self._log_out(http)
            except NotAcknowledged:
                until(lambda: self._gateway.health()[0] == 200, "the gateway does not come back")

    def stop(self) -> None:
        """Stop when the present thing is done."""
        self._enough.set()
        self.join()

    def _revoke(self, http: httpx2.Client) -> None:
        grant = SVC | {"grant_type": "client_credentials"}
        revoked, valid = (str(_told(http, "token", grant)["access_token"]) for _ in range(2))
        self.journal.valid.append(valid)
        _told(http, "revoke", SVC | {"token": revoked})
        self.journal.revoked.append(revoked)

    def _keep(self, http: httpx2.Client) -> None:
        """Sign in for long, and refresh: the first refresh token is spent."""
        first = self._sign_in(http)
        second = str(_told(http, "token", _renewal(first))["refresh_token"])
        self.journal.usable.append(second)
        self.journal.spent.append(first)

    def _log_out(self, http: httpx2.Client) -> None:
        token = self._sign_in(http)
        _told(http, "logout", {"client_id": "app", "refresh_token": token})
        self.journal.spent.append(token)

    def _sign_in(self, http: httpx2.Client) -> str:
        form = {"grant_type": "password", "client_id": "app", "scope": "offline_access"}
        who = {"username": self._username, "password": PASSWORD}
        return str(_told(http, "token", form | who)["refresh_token"])


def _renewal(token: str) -> dict[str, str]:
    return {"grant_type": "refresh_token", "client_id": "app", "refresh_token": token}


def _told(http: httpx2.Client, path: str, form: dict[str, str]) -> dict[str, object]:
    """Return the acknowledgement; raises NotAcknowledged."""
    try:
        response = http.post(protocol("r", path), data=form)
    except httpx2.TransportError as error:
        raise NotAcknowledged from error
    if response.status_code == httpx2.codes.SERVICE_UNAVAILABLE:
        raise NotAcknowledged
    assert response.is_success, response.text
    return response.json() if response.content else {}


def _kill(gateway: Gateway) -> None:
    # The supervisor first, for it would replace a worker at once.
    for pid in (gateway.pid, *gateway.family()):
        os.kill(pid, signal.SIGKILL)
    gateway.process.wait(10)
    until(lambda: not gateway.has_listener(), "a worker outlives its supervisor")


def _compare(http: httpx2.Client, journal: Journal) -> None:
    def active(token: str) -> object:
        return _told(http, "token/introspect", SVC | {"token": token})["active"]

    assert [active(token) for token in journal.revoked] == [False] * len(journal.revoked)
    assert [active(token) for token in journal.valid] == [True] * len(journal.valid)
    for tokens, status in ((journal.usable, 200), (journal.spent, 400)):
        answers = [http.post(protocol("r", "token"), data=_renewal(token)) for token in tokens]
        assert [answer.status_code for answer in answers] == [status] * len(tokens)


@pytest.fixture(params=["sqlite", "postgresql"])
def stored_in(request: pytest.FixtureRequest) -> tuple[str, PostgresServer | None]:
    """Return a database of each kind, and the server that may be killed."""
    if request.param == "sqlite":
        return "", None
    server: PostgresServer = request.getfixturevalue("own_postgres")
    return server.url(server.create_database()).reveal(), server


def _victims(gateway: Gateway, server: PostgresServer | None) -> Callable[[], int]:
    """Return who is to be killed next: a worker, or any process of the database but its first."""
    chance = random.Random(9)  # noqa: S311 - moments, not secrets

    def next_victim() -> int:
        workers = until(gateway.workers, "no worker")
        if server is None or chance.random() < 0.5:
            return chance.choice(workers)
        return chance.choice(server.processes()[1:])

    return next_victim


def _moments(people: list[Person]) -> Iterator[None]:
    """Yield after a number of acknowledgements that nobody can foresee."""
    chance = random.Random(4)  # noqa: S311 - moments, not secrets
    for _ in range(KILLS):
        aim = _acknowledged(people) + chance.randint(1, 12)
        until(lambda aim=aim: _acknowledged(people) >= aim, "nothing is acknowledged", 30)  # type: ignore[misc] # a bound default
        yield


def _acknowledged(people: list[Person]) -> int:
    return sum(person.journal.acknowledged for person in people)


def test_nothing_acknowledged_is_lost_whoever_is_killed_and_when(
    tmp_path: Path, stored_in: tuple[str, PostgresServer | None]
) -> None:
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    url, server = stored_in
    place: dict[str, Any] = {"database_url": url} if url else {}
    with start_gateway(tmp_path, import_realm=tmp_path / "realms.json", **place) as gateway:
        people = [Person(gateway, name) for name in PEOPLE]
        victim = _victims(gateway, server)
        for person in people:
            person.start()
        try:
            for _ in _moments(people):
                pid = victim()
                os.kill(pid, signal.SIGKILL)
                until(lambda pid=pid: not is_running(pid), "it lives")  # type: ignore[misc] # a bound default
        finally:
            for person in people:
                person.stop()
        _kill(gateway)
    with start_gateway(tmp_path, **place) as gateway, gateway.client() as http:
        for person in people:
            assert person.journal.acknowledged > 0
            _compare(http, person.journal)
