"""What small hostile inputs cost the worker that meets them."""

import http.client
import json
import os
import random
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from bench.administrators import add_administrator, administrator_token
from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.gateway_socket import GatewaySocket
from bench.hostile_certificates import certificates
from bench.hostile_documents import Document, documents
from bench.load import lending_nginx
from bench.processes import BenchError, proportional_bytes
from bench.stack import CLIENT, REALM, Stack, import_realms, stack
from bench.timed_client import TimedClient

TITLE = "Hostile input, one worker"
HOW = (
    "Bodies of the largest accepted size go to every operation of the admin API, to the protocol"
    " endpoints and to client registration, one after the other, through nginx. Meanwhile another"
    " connection to the gateway's socket asks for the realm's public page again and again; a pause"
    " is the processor time that the worker took while one of these small requests waited. Then"
    " memory: requests with scopes, names, addresses and client certificates that hardly ever"
    " repeat, the worker's size after them against its size after the first hundredth. In between,"
    " a realm of 25,000 clients, the last of them wrong, is read three times, while a connection"
    " through nginx asks for the realm's public page: how long the slowest of its answers took. The"
    " worker has all processors meanwhile."
)
_HOSTILE: Final = "hostile"
_PAUSE: Final = at_most(100, 50)
_WAIT: Final = at_most(100, 50)
_GROWTH: Final = at_most(10, 5)
_CLIENTS_READ: Final = 25_000
_TIMES_READ: Final = 3
_WORST: Final = 8
_NOT_LET_IN: Final = (0, 401, 502, 503, 504)
_TIMEOUT: Final = 600
"""In seconds, as long as nginx waits for the admin API."""
_TOKEN_SECONDS: Final = 20
"""Less than an administrator's token lives."""
_CERTIFICATES: Final = 2_000
_SCOPES: Final = ("email", "profile", "roles", "basic", "acr", "web-origins", "phone", "address")


def measure(bench: Bench) -> Result:
    """Measure the pauses, then the growth of memory."""
    site = bench.copy("hostile")
    add_administrator(site)
    import_realms(site, [{"realm": _HOSTILE, "enabled": True}])
    with (
        stack(site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
        _watch(target) as watch,
    ):
        pauses = _pauses(bench, target, watch, ports["a"])
        with watch.asking, _on_all_processors(watch.worker):
            waits = _waits_through_nginx(target, administrator_token(ports["a"]))
        sent, growth = _growth(bench, target, watch)
    worst = sorted(pauses, key=lambda one: one.milliseconds, reverse=True)
    for one in worst[:_WORST]:
        print(f"  {one}")
    # Elsewhere the sender has no client and no token of the realm: a refusal is the answer.
    administrative = [one for one in pauses if one.document.path.startswith("/admin/")]
    not_let_in = [one for one in administrative if one.status in _NOT_LET_IN]
    for one in not_let_in:
        print(f"  not let in: {one}")
    figures = (
        Figure("documents sent", len(pauses)),
        Figure("administrative documents whose sender was not let in", len(not_let_in)),
        Figure("longest pause of the event loop", worst[0].milliseconds, "ms", _PAUSE),
        Figure("documents that paused it for longer", _too_long(worst)),
        Figure("requests through nginx while clients are read", len(waits)),
        Figure("longest of them", 1_000 * max(waits), "ms", _WAIT),
        Figure("requests between the two sizes of the worker", sent),
        Figure("growth of the worker", growth / 1e6, "MB", _GROWTH),
    )
    return Result(figures, HOW)


@dataclass(frozen=True, slots=True)
class _Pause:
    document: Document
    status: int
    milliseconds: float

    def __str__(self) -> str:
        return f"{self.milliseconds:7.1f} ms  {self.status}  {self.document.name}"


def _too_long(pauses: list[_Pause]) -> int:
    return sum(not _PAUSE.keeps(one.milliseconds) for one in pauses)


@dataclass(slots=True)
class _Watch:
    """Asks small requests, and remembers the most that the worker worked during one of them.

    Whoever holds `asking` keeps it from asking: what this process computes meanwhile would make
    a request seem to wait.
    """

    worker: int
    connection: GatewaySocket
    longest: float = 0.0
    asking: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask until it is ended."""
        while not self.ended.is_set():
            with self.asking:
                before = _processor_seconds(self.worker)
                self.connection.ask("GET", f"/realms/{REALM}")
                self.longest = max(self.longest, _processor_seconds(self.worker) - before)
            self.ended.wait(0.001)

    def take(self) -> float:
        """Return the longest, and begin again."""
        longest, self.longest = self.longest, 0.0
        return longest


@contextmanager
def _watch(target: Stack) -> Iterator[_Watch]:
    watch = _Watch(target.gateway_processes()[-1], GatewaySocket(target))
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield watch
    finally:
        watch.ended.set()
        thread.join()


def _processor_seconds(worker: int) -> float:
    """Return the processor time of all threads of a process, to the nanosecond."""
    total = 0
    for task in Path(f"/proc/{worker}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / 1e9


def _pauses(bench: Bench, target: Stack, watch: _Watch, port: int) -> list[_Pause]:
    context = ssl.create_default_context(cafile=target.site.certificates / "ca.crt")
    found: list[_Pause] = []
    token, renewed = "", 0.0
    made = documents(_HOSTILE, bench.plan.hostile_bytes)
    while True:
        with watch.asking:
            document = next(made, None)
        if document is None:
            return found
        if time.monotonic() - renewed > _TOKEN_SECONDS:
            token, renewed = administrator_token(port), time.monotonic()
        watch.take()
        headers = {"Content-Type": document.content_type, "Authorization": f"Bearer {token}"}
        connection = http.client.HTTPSConnection(
            "localhost", target.https_port, timeout=_TIMEOUT, context=context
        )
        try:
            connection.request(document.method, document.path, document.body, headers)
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        except (OSError, http.client.HTTPException):
            status = 0
        finally:
            connection.close()
        found.append(_Pause(document, status, 1_000 * watch.take()))
        if _too_long(found[-1:]):
            print(f"  {found[-1]}", flush=True)


@contextmanager
def _on_all_processors(process: int) -> Iterator[None]:
    """Let the threads of a process run beside each other, as where a machine is not divided.

    A thread that releases the interpreter lock and takes it back at once starves others only there:
    on one processor, the kernel runs the thread that it wakes up.
    """
    before = os.sched_getaffinity(process)
    _set_processors(process, set(range(os.cpu_count() or 1)))
    try:
        yield
    finally:
        _set_processors(process, before)


def _set_processors(process: int, processors: set[int]) -> None:
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), processors)


def _waits_through_nginx(target: Stack, token: str) -> list[float]:
    """Return the seconds that each small request took while many clients were read."""
    clients = [*({"clientId": f"c{number}"} for number in range(_CLIENTS_READ)), {"clientId": []}]
    body = json.dumps({"realm": f"{_HOSTILE}-read", "clients": clients}).encode()
    waits: list[float] = []
    with ThreadPoolExecutor(1) as threads:
        for _ in range(_TIMES_READ):
            reading = threads.submit(_read_clients, target, body, token)
            client = TimedClient(target.https_port, target.site.certificates / "ca.crt")
            while not reading.done():
                client.seconds = 0.0
                url = f"{client.url}/realms/{REALM}"
                answer = client.request("GET", url, headers={}, content=None)
                if answer.status_code != HTTPStatus.OK:
                    raise BenchError(f"{url}: {answer.status_code}")
                waits.append(client.seconds)
            client.close()
            if reading.result() != HTTPStatus.BAD_REQUEST:
                raise BenchError(f"the clients that are read: {reading.result()}")
    return waits


def _read_clients(target: Stack, body: bytes, token: str) -> int:
    client = TimedClient(target.https_port, target.site.certificates / "ca.crt")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    try:
        url = f"{client.url}/admin/realms"
        return client.request("POST", url, headers=headers, content=body).status_code
    finally:
        client.close()


def _growth(bench: Bench, target: Stack, watch: _Watch) -> tuple[int, float]:
    connection = GatewaySocket(target)
    chosen = random.Random(1)  # noqa: S311 - the same hostile requests in every run
    shown = certificates(_CERTIFICATES)
    requests = bench.plan.hostile_requests
    before = 0.0
    for number in range(requests):
        if number == requests // 100:
            before = proportional_bytes(watch.worker)
        _send_one(connection, chosen, number, shown[number % len(shown)])
    return requests - requests // 100, proportional_bytes(watch.worker) - before


def _send_one(
    connection: GatewaySocket, chosen: random.Random, number: int, certificate: bytes
) -> None:
    headers = {
        "ssl-client-cert": quote(certificate),
        "ssl-client-verify": "FAILED:self-signed certificate",
        "X-Forwarded-For": f"2001:db8::{number >> 16:x}:{number & 0xFFFF:x}",
        f"X-Invented-{number}": "x" * 100,
    }
    realm = f"invented-{number}" if number % 3 == 0 else REALM
    form = {
        "grant_type": "client_credentials",
        "client_id": f"invented-{number}" if number % 3 == 1 else CLIENT,
        "scope": " ".join(chosen.choices(_SCOPES, k=180)),
        f"invented_{number}": "x",
    }
    path = f"/realms/{realm}/protocol/openid-connect/token"
    connection.ask("POST", path, urlencode(form).encode(), headers)
