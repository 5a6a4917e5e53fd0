"""A sign-in goes on at any gateway, and after a restart: what is left to do is in Redis.

Keycloak: 12.11, 12.12; attacks: D3
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.administered_realm import person
from tests.support.administration import PASSWORD
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.redis_server import RedisServer
from tests.support.sign_in_browser import PUBLIC_URL, SignInBrowser, web_client
from tests.support.wire import CHEAP

REALM = {
    "realm": "going",
    "enabled": True,
    "sslRequired": "none",
    "passwordPolicy": CHEAP,
    "attributes": {"userProfileEnabled": "false"},
    "clients": [web_client("app", consentRequired=True)],
    "users": [person("anna")],
}


class Place:
    """Gateways on the same database and Redis, with sockets of their own."""

    def __init__(self, folder: Path, redis: RedisServer) -> None:
        self._folder, self._redis = folder, redis
        (folder / "realms.json").write_text(json.dumps([REALM]))

    @contextmanager
    def gateway(self, name: str) -> Iterator[Gateway]:
        """Run a gateway; `name` is that of its socket."""
        with start_gateway(
            self._folder,
            state_dir=self._folder / name,
            database_url=f"sqlite:///{self._folder}/shared.db",
            redis_url=self._redis.url.reveal(),
            encryption_key_file=self._folder / "encryption.key",
            import_realm=self._folder / "realms.json",
            public_url=PUBLIC_URL,
        ) as gateway:
            yield gateway


@pytest.fixture
def place(tmp_path: Path, redis_server: RedisServer) -> Place:
    return Place(tmp_path, redis_server)


def test_each_step_may_run_at_another_gateway_or_after_a_restart(place: Place) -> None:
    with ExitStack() as second:
        with place.gateway("one") as first, first.client() as http:
            browser = SignInBrowser(http, "going")
            page = browser.open()
            other = second.enter_context(place.gateway("two"))
            browser.http = second.enter_context(other.client())
            consent = browser.submit(page, username="anna", password=PASSWORD)
            assert "accept" in consent.form.names
        # The first one has gone; it comes back, and the second one goes.
        with place.gateway("one") as again, again.client() as http:
            second.close()
            browser.http = http
            done = browser.post(consent.form.action, {"accept": "on"})
            assert browser.redeem(done.answer["code"]).status_code == 200
            silent = browser.open(prompt="none")
            assert silent.answer["session_state"] == done.answer["session_state"]
