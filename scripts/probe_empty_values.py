"""Sends empty values in every field of the admin API to a Keycloak, and prints its answers.

`python -m scripts.probe_empty_values http://127.0.0.1:8080 password > answers.jsonl`, with the
password of its administrator `admin`, and the representations to probe if not all. The answers are
in tests/http/empty_values.jsonl; a test requires the same of the gateway. The realm of the probe is
deleted before and after it.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import httpx2

from tests.support.empty_value_subjects import SUBJECTS, Subject, World
from tests.support.empty_values import Row, measured, operations

_REALM = "empty-values"
_AT_ONCE = 8
_LIFESPAN = 40.0
"""In seconds, less than that of an access token of `master`."""


@dataclass(slots=True)
class _Keycloak:
    http: httpx2.Client
    password: str
    _token: str = ""
    _renew_at: float = 0.0

    def ask(self, method: str, path: str, document: object) -> httpx2.Response:
        if time.monotonic() > self._renew_at:
            self._sign_in()
        url = "/admin/realms" + (f"/{path}" if path else "")
        headers = {"Authorization": f"Bearer {self._token}"}
        if document is None:
            return self.http.request(method, url, headers=headers)
        return self.http.request(method, url, headers=headers, json=document)

    def _sign_in(self) -> None:
        form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin"}
        path = "/realms/master/protocol/openid-connect/token"
        answer = self.http.post(path, data=form | {"password": self.password})
        self._token = answer.raise_for_status().json()["access_token"]
        self._renew_at = time.monotonic() + _LIFESPAN


def _rows(world: World, subject: Subject) -> list[Row]:
    return [row for each in operations(subject) for row in measured(world, subject, each)]


def main() -> None:
    """Print a line for each row."""
    _, url, password, *names = sys.argv
    with httpx2.Client(base_url=url, timeout=300.0) as http:
        keycloak = _Keycloak(http, password)
        keycloak.ask("DELETE", _REALM, None)
        world = World.prepared(keycloak.ask, _REALM)
        chosen = [subject for subject in SUBJECTS if not names or subject.name in names]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            running = [threads.submit(_rows, world, subject) for subject in chosen]
            for finished in as_completed(running):
                sys.stdout.writelines(row.write() + "\n" for row in finished.result())
                sys.stdout.flush()
        keycloak.ask("DELETE", _REALM, None)


if __name__ == "__main__":
    main()
