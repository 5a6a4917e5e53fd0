"""Sends mutations of a certificate to a gateway's socket, and measures the worker's memory.

    python -m bench.mutated_certificates --socket run/gateway.sock --realm R --certificate C.crt \
        --worker PID --count 1000000

Each is to be refused by 400 or 401; any other status, a broken connection or an answer that takes
longer than a second ends the run.
"""

import base64
import http.client
import random
import socket
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from bench.processes import proportional_bytes

_FORM: Final = b"grant_type=client_credentials&client_id=device-1"
_HEADERS: Final = {
    "Host": "localhost",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "127.0.0.1",
    "Content-Type": "application/x-www-form-urlencoded",
    "ssl-client-verify": "SUCCESS",
}
_REFUSALS: Final = {400, 401}
_SLOWEST: Final = 1.0
"""Seconds."""
_ODD: Final = '%+-=" 0aZ~\t'


def mutation(chosen: random.Random, der: bytes) -> str:
    """Return a header whose certificate or whose text is damaged; never one of the certificate."""
    value = original = _escaped(der)
    while "".join(unquote(value).split()) == "".join(unquote(original).split()):
        value = _damaged(chosen, der)
    return value


def _damaged(chosen: random.Random, der: bytes) -> str:
    damaged = bytearray(der)
    kind = chosen.choice(("cut", "bytes", "bytes", "text"))
    if kind == "cut":
        del damaged[chosen.randrange(len(der)) :]
    elif kind == "bytes":
        for _ in range(chosen.randint(1, 6)):
            damaged[chosen.randrange(len(der))] ^= chosen.randint(1, 255)
    value = _escaped(damaged)
    if kind == "text":
        at = chosen.randrange(1, len(value) - 1)
        value = f"{value[:at]}{chosen.choice(_ODD)}{value[at + chosen.randint(1, 3) :]}"
    return value


def _escaped(der: bytes | bytearray) -> str:
    lines = base64.encodebytes(der).decode()
    return quote(f"-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n", safe="")


def _run(options: Namespace) -> None:
    der = base64.b64decode("".join(options.certificate.read_text().splitlines()[1:-1]))
    chosen = random.Random(options.seed)  # noqa: S311 - the same mutations in every run
    connection = http.client.HTTPConnection("localhost", timeout=10)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(options.socket))
    path = f"/realms/{options.realm}/protocol/openid-connect/token"
    statuses: Counter[int] = Counter()
    slowest, before = 0.0, 0.0
    for number in range(options.count):
        if number == options.count // 100:
            before = proportional_bytes(options.worker)
        value = mutation(chosen, der)
        sent = time.monotonic()
        connection.request("POST", path, _FORM, {**_HEADERS, "ssl-client-cert": value})
        answer = connection.getresponse()
        text = answer.read()
        slowest = max(slowest, time.monotonic() - sent)
        statuses[answer.status] += 1
        if answer.status not in _REFUSALS or b"error_description" not in text:
            sys.exit(f"{answer.status} {text!r} for {value}")
    after = proportional_bytes(options.worker)
    print(f"{dict(statuses)}, slowest {slowest * 1000:.0f} ms")
    print(
        f"worker: {before / 1e6:.1f} MB after 1 % of the requests, {after / 1e6:.1f} MB at the end"
    )
    if slowest > _SLOWEST:
        sys.exit("an answer took longer than a second")


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--realm", required=True)
    parser.add_argument("--certificate", type=Path, required=True, help="PEM of one certificate")
    parser.add_argument("--worker", type=int, required=True, help="its process id")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    _run(_options())
