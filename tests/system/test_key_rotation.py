"""Keys rotate while tokens are asked for: none fails to verify. Attacks F12, S21."""

import json
import os
import threading
from functools import partial
from pathlib import Path

import httpx2
import jwt

from tests.support.forked_gateway import run_command
from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.wire import SECRET, audience, client, protocol

SVC = {"client_id": "svc", "client_secret": SECRET}
GRANT = SVC | {"grant_type": "client_credentials"}
ROTATIONS = 5
REALM = {
    "realm": "r",
    "enabled": True,
    "clients": [client("svc", protocolMappers=[audience("svc")])],
}


def _rotate(gateway: Gateway) -> None:
    done = run_command(
        ["keys", "rotate", "--realm", "r", "--now"],
        env={"PATH": os.environ["PATH"], "REALMGATE_STATE_DIR": str(gateway.state_dir)},
        cwd=gateway.state_dir,
    )
    assert done.returncode == 0, done.stderr


class _Asking(threading.Thread):
    """Asks for tokens until it is stopped, and verifies each as a careful stranger does."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self._gateway = gateway
        self._enough = threading.Event()
        self.tokens: list[str] = []
        self.failures: list[str] = []

    def run(self) -> None:
        """Ask, verify, remember."""
        with self._gateway.client() as http:
            while not self._enough.is_set():
                answer = http.post(protocol("r", "token"), data=GRANT)
                if answer.status_code == httpx2.codes.OK:
                    self.tokens.append(answer.json()["access_token"])
                    self._verify(http, self.tokens[-1])
                else:
                    self.failures.append(answer.text)

    def _verify(self, http: httpx2.Client, token: str) -> None:
        keys = jwt.PyJWKSet.from_dict(http.get(protocol("r", "certs")).json())
        try:
            jwt.decode(
                token, keys[jwt.get_unverified_header(token)["kid"]], ["RS256"], audience="svc"
            )
        except (KeyError, jwt.PyJWTError) as failure:
            self.failures.append(repr(failure))

    def has_seen(self, keys: int) -> bool:
        """Tell whether tokens were signed by as many keys."""
        return len({jwt.get_unverified_header(token)["kid"] for token in [*self.tokens]}) >= keys

    def stop(self) -> None:
        """Stop asking."""
        self._enough.set()
        self.join(10)


def test_no_token_fails_to_verify_while_keys_rotate(tmp_path: Path) -> None:
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    with start_gateway(tmp_path, import_realm=tmp_path / "realms.json") as gateway:
        asking = _Asking(gateway)
        asking.start()
        try:
            for number in range(ROTATIONS):
                until(partial(asking.has_seen, number + 1), "no token with the new key")
                _rotate(gateway)
        finally:
            asking.stop()
        with gateway.client() as http:
            path = protocol("r", "token/introspect")
            first = http.post(path, data=SVC | {"token": asking.tokens[0]}).json()
    assert asking.failures == []
    assert first["active"] is True
