"""Requests that name hosts in every spelling, as bytes of HTTP/1.1 and frames of HTTP/2."""

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, ResponseReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

from tests.support.ports import ADDRESS

Head = tuple[str, ...]
"""A request line and header lines of HTTP/1.1."""
_DEADLINE: Final = 10.0


@dataclass(frozen=True, slots=True)
class HostNames:
    """The host of the proxy's server, and hosts that a stranger has registered."""

    own: str
    others: Sequence[str]


def spellings_of(host: str) -> Iterator[str]:
    """Yield what could be read as the host, and what could be read as it and something else."""
    first, _, rest = host.partition(".")
    yield from (host, host.upper(), f"{first.title()}.{rest}")
    yield from (f"{host}:{port}" for port in (443, 80, 1, 8443, 65535))
    yield from (
        f"{host}:{port}" for port in ("", "0", "0443", "00001", "65536", "99999999999", "-1")
    )
    yield from (
        f"{host}:{port}" for port in ("443:1", "1:443", "x", "+1", " 1", "1 ", "0x1bb", "%31")
    )
    yield from (
        f"{host}.",
        f"{host}.:1",
        f"{host}..",
        f".{host}",
        f"{first}..{rest}",
        f"{host}.:443",
    )
    yield from (f"{host}\t", f"\t{host}", f"{host} x", f"{host}\x0b", f"{host}\x00", f"{host}\x7f")
    yield from (f"{host},{host}", f"{host}@{host}", f"user@{host}", f"user:1@{host}", f"{host};x")
    yield from (f"{host}/", f"{host}#", f"{host}?", f"https://{host}", f"//{host}", f"{host}\\")
    yield from (
        f"{first}_.{rest}",
        f"_{host}",
        f"-{host}",
        f"xn--{host}",
        f"%{ord(first[0]):x}{host[1:]}",
    )
    yield from (
        text.encode().decode("latin-1") for text in (f"\uff41{host[1:]}", f"{first}\u3002{rest}")
    )
    yield from (f"{first}\xe9.{rest}", f"*.{rest}", f"*.{host}", f"a.{host}", f"{host}.example")


ADDRESSES: Final = (
    *("127.0.0.1", "127.0.0.1:1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1."),
    *(
        "[::1]",
        "[::1]:1",
        "[::1]:443",
        "::1",
        "[::1%25lo]",
        "[::1%lo]",
        "[0:0::1]",
        "[::ffff:7f00:1]",
    ),
    *("[::127.0.0.1]", "[::1", "[]", "localhost", "localhost:1", "", "*", "_", ":443", ":"),
)


def heads_of(names: HostNames, path: str) -> Iterator[Head]:
    """Yield requests of HTTP/1.1 whose host is written in every way."""
    hosts = [*spellings_of(names.own), *names.others, *ADDRESSES]
    hosts += [f"{names.own},{other}" for other in names.others]
    hosts += [f"{names.own}@{other}" for other in names.others]
    for host in hosts:
        yield f"GET {path} HTTP/1.1", f"Host: {host}"
    for host in (f"{names.own}:1", f"{names.own}.", *names.others, "[::1]:1", "user@x", ""):
        for scheme in ("https", "http"):
            yield f"GET {scheme}://{host}{path} HTTP/1.1", f"Host: {names.own}"
            yield f"GET {scheme}://{names.own}{path} HTTP/1.1", f"Host: {host}"
            yield f"GET {scheme}://{host}{path} HTTP/1.1", f"Host: {host}"
        yield (f"GET https://{host}{path} HTTP/1.0",)
        yield f"GET https://{names.own}@{host}{path} HTTP/1.1", f"Host: {names.own}"
        yield f"GET //{host}{path} HTTP/1.1", f"Host: {names.own}"
        for first, second in ((names.own, host), (host, names.own), (host, host)):
            yield f"GET {path} HTTP/1.1", f"Host: {first}", f"Host: {second}"
            yield f"GET {path} HTTP/1.1", f"Host: {first}", f" {second}"
        yield f"GET {path} HTTP/1.1", f"Host : {host}", f"Host: {names.own}"
        yield f"GET {path} HTTP/1.1", f"Host: {names.own}", f"Host : {host}"
        for line in (
            *(
                f"X-Forwarded-Host: {host}",
                f"X-Realmgate-Server: {host}",
                f"Forwarded: host={host}",
            ),
            *(f"X-Realmgate_Server: {host}", f"x_realmgate_server: {host}", f"X-Host: {host}"),
            *(f"X_Forwarded_Host: {host}", "Connection: X-Realmgate-Server, Host, close"),
        ):
            yield f"GET {path} HTTP/1.1", f"Host: {names.own}", line
    yield (f"GET {path} HTTP/1.1",)
    yield (f"GET {path} HTTP/1.0",)
    yield (f"GET {path}",)


def frames_of(names: HostNames) -> Iterator[tuple[str | None, Sequence[str]]]:
    """Yield `:authority` and values of `host` of requests of HTTP/2, None without an authority."""
    hosts = [names.own, f"{names.own}:1", f"{names.own}.", f"user@{names.own}", *names.others]
    for authority, host in product([None, "", *hosts], hosts):
        yield authority, [host]
    for authority in [None, *spellings_of(names.own), *names.others, *ADDRESSES]:
        yield authority, []
    for other in names.others:
        yield names.own, [names.own, other]
        yield None, [names.own, other]
        yield None, [other, names.own]


@contextmanager
def _connected(port: int, sni: str, alpn: str) -> Iterator[ssl.SSLSocket]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.set_alpn_protocols([alpn])
    with (
        socket.create_connection((ADDRESS, port), timeout=_DEADLINE) as plain,
        tls.wrap_socket(plain, server_hostname=sni) as connection,
    ):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def status_of_head(port: int, sni: str, head: Head, *more: str) -> int:
    """Return the status of the answer; 400 where the proxy ends the connection instead."""
    lines = [*head, *more, *([] if "Connection" in str(head) else ["Connection: close"])]
    request = "\r\n".join([*lines, "", ""]).encode("latin-1")
    received = b""
    with suppress(ConnectionError, ssl.SSLError), _connected(port, sni, "http/1.1") as connection:
        connection.sendall(request)
        # Envoy keeps a connection open for a second after its answer.
        while b"\r\n" not in received and (piece := connection.recv(65536)):
            received += piece
    found = received.split(b" ", 2)
    return int(found[1]) if len(found) > 1 and found[0].startswith(b"HTTP/") else 400


def status_of_frames(
    port: int, sni: str, path: str, authority: str | None, hosts: Sequence[str]
) -> int:
    """Return the status of a request by HTTP/2, 400 where the proxy ends it instead."""
    with _connected(port, sni, "h2") as connection:
        assert connection.selected_alpn_protocol() == "h2"
        configuration = H2Configuration(
            validate_outbound_headers=False, normalize_outbound_headers=False
        )
        http = H2Connection(configuration)
        http.initiate_connection()
        headers = [(":method", "GET"), (":scheme", "https"), (":path", path)]
        headers += [] if authority is None else [(":authority", authority)]
        headers += [("host", host) for host in hosts]
        encoded = [(name, value.encode("latin-1")) for name, value in headers]
        http.send_headers(1, encoded, end_stream=True)
        with suppress(ConnectionError, ssl.SSLError, ProtocolError):
            connection.sendall(http.data_to_send())
            return _answered(connection, http)
    return 400


def _answered(connection: ssl.SSLSocket, http: H2Connection) -> int:
    status = 400
    while piece := connection.recv(65536):
        for event in http.receive_data(piece):
            if isinstance(event, ResponseReceived):
                status = int(dict(event.headers)[b":status"])
            if isinstance(event, StreamEnded | StreamReset | ConnectionTerminated):
                return status
        connection.sendall(http.data_to_send())
    return status
