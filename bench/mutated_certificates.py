"""Sends mutations of a certificate to a gateway's socket, and measures the worker's memory.

    python -m bench.mutated_certificates --socket run/gateway.sock --realm R --client-id C \
        --certificate C.crt --proxy-secret-file secrets/proxy.secret --worker PID --count 1000000

The certificate itself is to be granted a token, or the mutations would prove nothing. Each of them
is to be refused by 400 or 401; any other status, a broken connection or an answer that takes longer
than a second ends the run. The reasons are counted.
"""

import base64
import http.client
import json
import random
import socket
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlencode

from bench.processes import proportional_bytes

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
_MOST_REASONS: Final = 20
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


class _Sender:
    """Asks for tokens over one connection to the gateway's socket."""

    def __init__(self, options: Namespace) -> None:
        self._connection = http.client.HTTPConnection("localhost", timeout=10)
        self._connection.sock = socket.socket(socket.AF_UNIX)
        self._connection.sock.connect(str(options.socket))
        self._path = f"/realms/{options.realm}/protocol/openid-connect/token"
        self._form = urlencode(
            {"grant_type": "client_credentials", "client_id": options.client_id}
        ).encode()
        secret = options.proxy_secret_file
        self._headers = {
            **_HEADERS,
            **({"X-Realmgate-Proxy-Secret": secret.read_text().strip()} if secret else {}),
        }

    def answer(self, certificate: str) -> tuple[int, dict[str, object]]:
        """Return status and document of the answer to an escaped certificate."""
        headers = {**self._headers, "ssl-client-cert": certificate}
        self._connection.request("POST", self._path, self._form, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


def _run(options: Namespace) -> None:
    der = base64.b64decode("".join(options.certificate.read_text().splitlines()[1:-1]))
    chosen = random.Random(options.seed)  # noqa: S311 - the same mutations in every run
    sender = _Sender(options)
    status, document = sender.answer(_escaped(der))
    if status != HTTPStatus.OK:
        sys.exit(f"The certificate itself gets {status} {document}")
    reasons: Counter[tuple[int, str]] = Counter()
    slowest, before = 0.0, 0.0
    for number in range(options.count):
        if number == options.count // 100:
            before = proportional_bytes(options.worker)
        value = mutation(chosen, der)
        sent = time.monotonic()
        status, document = sender.answer(value)
        slowest = max(slowest, time.monotonic() - sent)
        if status not in _REFUSALS or not document.get("error_description"):
            sys.exit(f"{status} {document} for {value}")
        reasons[status, f"{document['error']}: {document['error_description']}"] += 1
    after = proportional_bytes(options.worker)
    for (status, reason), count in reasons.most_common(_MOST_REASONS):
        print(f"{count:>8}  {status} {reason[:120]}")
    print(f"slowest {slowest * 1000:.0f} ms")
    print(
        f"worker: {before / 1e6:.1f} MB after 1 % of the requests, {after / 1e6:.1f} MB at the end"
    )
    if slowest > _SLOWEST:
        sys.exit("an answer took longer than a second")


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--realm", required=True)
    parser.add_argument("--client-id", required=True, help="a client that the certificate signs in")
    parser.add_argument("--proxy-secret-file", type=Path)
    parser.add_argument("--certificate", type=Path, required=True, help="PEM of one certificate")
    parser.add_argument("--worker", type=int, required=True, help="its process id")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    _run(_options())
