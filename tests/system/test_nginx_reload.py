"""A reload of nginx brings in new certificates, lists and secrets, and loses no request.

Attacks A9, F13, S15. A client may only see a connection end that it kept idle, and then a request
was not sent twice by anybody. Spec: RFC 9110 §9.2.2, RFC 9112 §9.5
"""

import os
import shutil
import signal
import socket
import ssl
import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
from cryptography import x509

from gateway.cli.nginx import PlainHttp, render_nginx
from gateway.crypto.x509.development_pki import (
    ISSUING,
    certificate_name,
    key_name,
    key_pem,
    pem,
    read_authority,
    revoke_certificate,
    write_files,
)
from gateway.crypto.x509.issuing import (
    CertificatePurpose,
    KeyAlgorithm,
    ValidityPeriod,
    generate_key,
    host_name,
    issue_end_entity,
    name,
)
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import descendants, is_running, until
from tests.support.nginx import DEADLINE, Edge, RunningNginx, polling, start_edge
from tests.support.ports import ADDRESS

RELOADS = 8
WORKERS = os.cpu_count()
"""As many as nginx starts: worker_processes auto."""
LEAST = 40
"""Requests of each caller, of whom there are six."""


def reload(nginx: RunningNginx) -> set[int]:
    """Have nginx read its files again; return the workers that did not, when the others are up."""
    before: set[int] = set()

    def all_are_new() -> bool:
        return len(set(descendants(nginx.pid)) - before) == WORKERS

    until(all_are_new, "nginx has not all of its workers")
    before.update(descendants(nginx.pid))
    os.kill(nginx.pid, signal.SIGHUP)
    until(all_are_new, "no new workers")
    return before


def gone(workers: set[int]) -> int:
    """Count those that have ended."""
    return len([pid for pid in workers if not is_running(pid)])


def status(nginx: RunningNginx, certificate: str | None) -> int:
    """Return the answer to a request on a connection of its own."""
    with nginx.client(certificate) as client:
        return client.get(nginx.https).status_code


def renew_server_certificate(folder: Path) -> int:
    """Put another certificate with another key in place; return its serial number."""
    issuer = read_authority(folder, ISSUING)
    key = generate_key(KeyAlgorithm.ECDSA)
    made = issue_end_entity(
        issuer,
        name("localhost"),
        key.public_key(),
        ValidityPeriod.starting(datetime.now(UTC), timedelta(days=1)),
        purpose=CertificatePurpose.SERVER,
        alternative_names=[host_name("localhost")],
    )
    chain = pem(made, issuer.certificate)
    write_files(folder, {certificate_name("server"): chain, key_name("server"): key_pem(key)})
    return made.serial_number


def shown_serial(nginx: RunningNginx) -> int:
    """Return the serial number of the certificate that nginx shows."""
    shown = ssl.get_server_certificate((ADDRESS, nginx.site.https_port))
    return x509.load_pem_x509_certificate(shown.encode()).serial_number


def revoke_client(folder: Path, client: str) -> None:
    """Put a list in place that names a client's certificate."""
    certificate = x509.load_pem_x509_certificate((folder / certificate_name(client)).read_bytes())
    revoke_certificate(folder, certificate, now=datetime.now(UTC))


class Asking(threading.Thread):
    """Asks until it is told that it is enough, and remembers how each request ended."""

    def __init__(self, nginx: RunningNginx, method: str, *, kept: bool, http2: bool) -> None:
        super().__init__(name=f"{method}-{'kept' if kept else 'new'}-{'h2' if http2 else 'h1'}")
        self._nginx, self._method = nginx, method
        self._kept, self.http2 = kept, http2
        self._enough = threading.Event()
        self.answered: list[str] = []
        self.cut_off: list[str] = []
        self.wrong: list[str] = []

    @property
    def may_be_idle(self) -> bool:
        """Tell whether a connection may be open while nothing was asked: at first in HTTP/2."""
        return self._kept or self.http2

    def run(self) -> None:
        """Ask."""
        with ExitStack() as connections:
            client = connections.enter_context(self._client())
            while not self._enough.is_set() or len(self.answered) < LEAST:
                if not self._kept:
                    connections.close()
                    client = connections.enter_context(self._client())
                self._ask(client, f"/{self.name}/{len(self.answered) + len(self.cut_off)}")

    def stop(self) -> None:
        """Stop asking, when it was often enough."""
        self._enough.set()
        self.join()

    def _client(self) -> httpx2.Client:
        return self._nginx.client("device-1", http2=self.http2)

    def _ask(self, client: httpx2.Client, target: str) -> None:
        try:
            response = client.request(self._method, f"{self._nginx.https}{target}")
        except httpx2.TransportError:
            self.cut_off.append(target)
            return
        self.answered.append(target)
        if response.status_code != httpx2.codes.OK or response.json() != {"target": target}:
            self.wrong.append(f"{target}: {response.status_code} {response.text}")


def test_no_request_is_lost_or_doubled_while_nginx_reloads(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    ways = [("GET", False), ("POST", False), ("GET", True)]
    with start_edge(tmp_path, edge_certificates.folder) as edge:
        callers = [
            Asking(edge.nginx, method, kept=kept, http2=http2)
            for method, http2 in ways
            for kept in (False, True)
        ]
        for caller in callers:
            caller.start()
        try:
            for _ in range(RELOADS):
                reload(edge.nginx)
        finally:
            for caller in callers:
                caller.stop()
    arrived = Counter(received.target for received in edge.upstream.received)
    for caller in callers:
        assert caller.wrong == []
        assert len(caller.cut_off) <= (RELOADS if caller.may_be_idle else 0), caller.name
        assert {arrived[target] for target in caller.answered} == {1}
        # This client gives up what is under way on an HTTP/2 connection that takes no more.
        assert {arrived[target] for target in caller.cut_off} <= ({0, 1} if caller.http2 else {0})


def test_a_request_begun_before_a_reload_keeps_its_worker(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    head = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
    with (
        start_edge(tmp_path, edge_certificates.folder, plain_http=PlainHttp.FORWARD) as edge,
        socket.create_connection((ADDRESS, edge.nginx.site.http_port), DEADLINE) as slow,
    ):
        slow.sendall(head + b"Expect: 100-continue\r\n\r\n")
        assert slow.recv(4096).startswith(b"HTTP/1.1 100"), "a worker has taken it"
        old = reload(edge.nginx)
        until(lambda: gone(old) == len(old) - 1, "more than the one with the request stay")
        slow.sendall(b"abcd")
        answer = slow.recv(4096)
        until(lambda: gone(old) == len(old), "an old worker stays")
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"Connection: close" in answer, "the caller is told to go to the new workers"
    assert edge.upstream.last.body == b"abcd"


def test_new_files_are_in_force_once_old_workers_are_gone(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """A new certificate of the server, and a list that names a device."""
    certificates = shutil.copytree(edge_certificates.folder, tmp_path / "certs")
    with start_edge(tmp_path, certificates) as edge:
        nginx = edge.nginx
        assert status(nginx, "device-1") == 200
        serial = renew_server_certificate(certificates)
        revoke_client(certificates, "device-1")
        assert shown_serial(nginx) != serial
        old = reload(nginx)
        until(lambda: gone(old) == len(old), "an old worker stays")
        assert shown_serial(nginx) == serial
        assert status(nginx, "device-1") == 400
        assert status(nginx, "device-2") == 200


def test_a_new_proxy_secret_is_sent_after_a_render_and_reload(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with start_edge(tmp_path, edge_certificates.folder) as edge:
        new = replace(edge.nginx.site, proxy_secret="the-secret-after-rotation")
        render_nginx(new, edge.nginx.configuration.parent)
        reload(edge.nginx)
        assert secret_sent(edge) == "the-secret-after-rotation"


def secret_sent(edge: Edge) -> str:
    """Return the secret that comes to be sent; a worker about to leave may send none."""
    for _ in polling():
        status(edge.nginx, None)
        if sent := edge.upstream.last.all("x-realmgate-proxy-secret"):
            return sent[0]
    return ""
