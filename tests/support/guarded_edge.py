"""The real nginx with protected sites, between a gateway that answers as a test says and a service.

For what nginx itself does with answers and requests, whatever the gateway is. It allows every
request unless a test writes another response for `DECISION`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import PROXY_SECRET, RunningNginx, make_prefix, start_nginx
from tests.support.protected_sites import protecting_source
from tests.support.recording_upstream import RecordingUpstream, recording_upstream

DECISION = "/.realmgate/guard/nginx"
REFUSED = "/.realmgate/refused"


@dataclass(frozen=True, slots=True)
class GuardedEdge:
    """What is before and behind nginx."""

    nginx: RunningNginx
    gateway: RecordingUpstream
    service: RecordingUpstream

    def refuse(self, status: str, *headers: str) -> None:
        """Let the gateway refuse every request, with the same response for the caller."""
        self.gateway.responses[DECISION] = response(status, *headers)
        self.gateway.responses[REFUSED] = response(status, *headers)

    def forget(self) -> None:
        """Forget what arrived and what is to be answered."""
        self.gateway.forget()
        self.service.forget()


def response(status: str, *headers: str, body: str = "") -> bytes:
    """Return a whole response."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines).encode()


ODD_ANSWERS = {
    "redirect": response("302 Found", "Location: https://id.example.test/"),
    "moved": response("301 Moved Permanently", "Location: /public/"),
    "not modified": response("304 Not Modified"),
    "bad request": response("400 Bad Request"),
    "not found": response("404 Not Found"),
    "busy": response("429 Too Many Requests", "Retry-After: 1"),
    "failed": response("500 Internal Server Error"),
    "unavailable": response("503 Service Unavailable", "Retry-After: 1"),
    "upgrade": response("101 Switching Protocols", "Upgrade: websocket", "Connection: upgrade"),
    "no HTTP": b"200 OK\r\n\r\n",
    "garbage": b"\x00\xff\r\n\r\n",
    "a header too long": response("200 OK", f"X-Long: {'x' * 40_000}"),
}
"""No decisions, by what is odd about them."""


@contextmanager
def start_guarded_edge(
    prefix: Path,
    certificates: EdgeCertificates,
    *,
    service: str | None = None,
    cached: bool = False,
    changes: Mapping[str, tuple[str, str]] | None = None,
) -> Iterator[GuardedEdge]:
    """Run an nginx below `prefix`; `service` is the URL of another service than the recording one.

    `changes` replace one text in each named file of the shipped configuration.
    """
    make_prefix(prefix)
    with (
        recording_upstream(prefix / "run/gateway.sock") as gateway,
        recording_upstream(prefix / "run/service.sock") as recording,
    ):
        gateway.responses[DECISION] = response("200 OK")
        address = service or f"http://{recording.address}"
        source = protecting_source(prefix, address, cached=cached, changes=changes)
        with start_nginx(
            prefix,
            certificates.folder,
            [gateway.address],
            source=source,
            proxy_secret=PROXY_SECRET,
        ) as nginx:
            yield GuardedEdge(nginx, gateway, recording)
