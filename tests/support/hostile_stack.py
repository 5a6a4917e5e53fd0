"""Asking the running product for costly work, and measuring what it has cost."""

import json
import os
import socket
import sqlite3
import ssl
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2

from tests.support.gateway_process import descendants
from tests.support.spec_stack import Stack, protocol

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class HostileStack:
    """The stack, with an administrator who is signed in once."""

    stack: Stack

    @cached_property
    def token(self) -> str:
        """A token of the administrator."""
        return self.stack.administrator()

    def send(self, method: str, path: str, document: object = None) -> httpx2.Response:
        """Send a document to the admin API."""
        return self.stack.http.request(
            method,
            f"{self.stack.nginx.https}/admin/realms{'/' if path else ''}{path}",
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            content=None if document is None else json.dumps(document).encode(),
        )

    def at_once(
        self, count: int, method: str, path: str, document: object
    ) -> list[httpx2.Response]:
        """Send the same request several times at once."""
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(lambda _: self.send(method, path, document), range(count)))

    def id_of(self, username: str, realm: str) -> str:
        """Return the id of a user."""
        (found,) = self.send("GET", f"{realm}/users?username={username}&exact=true").json()
        return str(found["id"])

    def processor_seconds(self) -> float:
        """Return the processor time that all processes of the gateway have used."""
        pid = self.stack.gateways[0].pid
        stats = (_stat(process) for process in (pid, *descendants(pid)))
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / _TICKS

    def store_parameters(self, user_id: str, credential_data: str) -> None:
        """Change how a stored password was made, as no interface allows it."""
        database = self.stack.gateways[0].state_dir / "realmgate.db"
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(
                "UPDATE credentials SET credential_data = ? WHERE user_id = ?",
                (credential_data, user_id),
            )

    @contextmanager
    def signing_in(self, username: str, password: str, realm: str) -> Iterator[None]:
        """Begin to sign in; at the end disconnect, whether or not there is an answer."""
        body = urlencode(
            {
                "grant_type": "password",
                "client_id": "app",
                "username": username,
                "password": password,
            }
        ).encode()
        head = (
            f"POST {protocol(realm)}/token HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        site = self.stack.nginx.site
        context = ssl.create_default_context(cafile=site.certificates / "ca.crt")
        with (
            socket.create_connection(("127.0.0.1", site.https_port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as connection,
        ):
            connection.sendall(head + body)
            yield


def _stat(pid: int) -> list[str]:
    """Return the fields after the name of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def hashed(
    algorithm: str, iterations: int, parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a credential of 32 bytes as Keycloak exports it; nothing was hashed for it."""
    made = {
        "hashIterations": iterations,
        "algorithm": algorithm,
        "additionalParameters": parameters or {},
    }
    secret = {"value": "A" * 43 + "=", "salt": "A" * 22 + "==", "additionalParameters": {}}
    return {
        "type": "password",
        "credentialData": json.dumps(made),
        "secretData": json.dumps(secret),
    }
