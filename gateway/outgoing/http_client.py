"""The HTTP client for URLs that the operator does not choose, such as a client's `jwks_uri`.

It connects to the address that was checked, never resolves a name twice, follows no redirect, uses
no proxy of the environment, and sends nothing but the request. One request has a limit of time in
total and of size. Connections lead to public addresses and to networks of the operator; ambiguous
URLs are refused. CWE-918; attacks C20, C21; Spec: RFC 3986 §3, RFC 6890 §2.2.2, RFC 9110 §9, RFC
9112 §2

Host names are resolved in the threads of the event loop, few at a time. A slow name server must not
use up the threads for connections to the stores, nor delay names that were resolved before: realms
and authorities choose names, and none of them may decide whether a list or a responder of another
realm can be asked. CWE-400; attacks A12, C21
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import h11

from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.outgoing import DocumentUnavailable

_TRANSLATED: Final = tuple(map(ip_network, ("64:ff9b::/96", "::/96")))
"""IPv6 networks that contain an IPv4 address in their last 32 bits. Spec: RFC 6052 §2.1."""
_NOT_PUBLIC: Final = tuple(
    map(
        ip_network,
        (
            *("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "100::/63", "2001::/23"),
            *("2002::/16", "3fff::/20", "5f00::/16", "fec0::/10"),
        ),
    )
)
"""Networks that `is_global` counts as public, or some versions of Python do.

They are protocol assignments with all their exceptions, relays, local translation, discarded,
documentation, segment routing and site-local addresses. Spec: RFC 6890; IANA's registries
"""


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """`networks` are allowed beside public addresses."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def permits(self, text: str) -> bool:
        """Return whether the address may be connected to."""
        try:
            address = ip_address(text)
        except ValueError:
            return False
        return all(self._permits(each) for each in _with_contained(address))

    def _permits(self, address: IPv4Address | IPv6Address) -> bool:
        if _is_in(address, self.networks):
            return True
        unusual = address.is_multicast or address.is_reserved or _is_in(address, _NOT_PUBLIC)
        return address.is_global and not unusual


def _with_contained(address: IPv4Address | IPv6Address) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return the address, or the ones that count where it stands for IPv4 addresses."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.scope_id is not None:
        return (IPv6Address("fe80::"),)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address, address.sixtofour)
    if address.teredo is not None:
        return (address, *address.teredo)
    if int(address) > 1 and _is_in(address, _TRANSLATED):
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return (address,)


def _is_in(
    address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network | IPv6Network]
) -> bool:
    return any(address in network for network in networks)


Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Host and port -> IP addresses as text; raises OSError."""
_NAMES_AT_ONCE: Final = 2
"""Of the four threads that uvloop resolves names in."""
LONGEST_LOOK_UP: Final = timedelta(milliseconds=500)
"""For a name with known addresses; these are used where it takes longer."""
KNOWN_FOR: Final = timedelta(hours=1)
_KNOWN_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Known:
    """Addresses that may be used until `until`, in seconds of the event loop."""

    addresses: tuple[str, ...]
    until: float


class SystemResolver:
    """Resolves as the system is configured. Belongs to one event loop."""

    def __init__(self, known_for: timedelta = KNOWN_FOR) -> None:
        """Use addresses for `known_for` where their name is not resolved in time."""
        self._free = asyncio.Semaphore(_NAMES_AT_ONCE)
        self._known_for = known_for
        self._known: SizedCache[tuple[str, int], _Known] = SizedCache(_KNOWN_BYTES)

    async def __call__(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        known = self._known.get((host, port))
        if known is None or known.until <= loop.time():
            return await self._look_up(host, port)
        try:
            async with asyncio.timeout(LONGEST_LOOK_UP.total_seconds()):
                return await self._look_up(host, port)
        except TimeoutError:
            return list(known.addresses)

    async def _look_up(self, host: str, port: int) -> list[str]:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._resolved(host, port))
        # The thread goes on when the caller no longer waits.
        task.add_done_callback(lambda _: self._free.release())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        found = await asyncio.shield(task)
        until = loop.time() + self._known_for.total_seconds()
        self._known.put((host, port), _Known(tuple(found), until))
        return found

    async def _resolved(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError("not a host name") from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class ServerVerification:
    """Trusts the system's authorities, and those of the PEM file `authorities`."""

    def __init__(self, authorities: Path | None = None) -> None:
        self._authorities = authorities
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """Return a context for clients, loaded at the first use; raises OSError."""
        if self._context is None:
            context = ssl.create_default_context()
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            if self._authorities is not None:
                context.load_verify_locations(cafile=self._authorities)
            self._context = context
        return self._context


_MOST_CHARACTERS: Final = 2048
_PLAIN: Final = re.compile(r"[!-~]+")
_AMBIGUOUS: Final = re.compile(r"[\\<>\"^`{|}]")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]+")
_PORTS: Final = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Method, URL and server of a request. `path` is with its query."""

    secure: bool
    host: str
    port: int
    path: str = field(repr=False)

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = _PORTS["https" if self.secure else "http"]
        return host if self.port == default else f"{host}:{self.port}"


def parse_target(url: str, *, allow_http: bool) -> RequestTarget:
    """Take a URL apart; raises DocumentUnavailable with the reason."""
    if len(url) > _MOST_CHARACTERS or not _PLAIN.fullmatch(url) or _AMBIGUOUS.search(url):
        raise DocumentUnavailable("the URL is too long, or contains characters that it must not")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise DocumentUnavailable("the URL has no valid host or port") from error
    if parts.scheme != "https" and not (allow_http and parts.scheme == "http"):
        raise DocumentUnavailable("the URL does not begin with https")
    if "@" in parts.netloc:
        raise DocumentUnavailable("the URL contains credentials")
    if not _HOST.fullmatch(host) or port == 0:
        raise DocumentUnavailable("the URL has no valid host or port")
    query = f"?{parts.query}" if parts.query else ""
    path = (parts.path or "/") + query
    return RequestTarget(parts.scheme == "https", host, port or _PORTS[parts.scheme], path)


MOST_BYTES: Final = 64 * 1024
_MOST_HEAD_BYTES: Final = 16 * 1024
_REQUESTS_AT_ONCE: Final = 32
_MOST_ADDRESSES: Final = 3
"""Addresses of one host that are tried."""
_CHUNK: Final = 16 * 1024
_USER_AGENT: Final = "realmgate"


@dataclass(frozen=True, slots=True)
class Response:
    """A response of any status."""

    status: int
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """`time` is for one request, from its beginning to the last byte of the response."""

    time: timedelta = timedelta(seconds=3)
    most_bytes: int = MOST_BYTES
    at_once: int = _REQUESTS_AT_ONCE


class GuardedHttpClient:
    """Sends requests to public addresses and to networks that the operator allows.

    Both methods raise DocumentUnavailable with a reason for logs: it must not be shown to callers,
    who would learn from it which addresses and ports exist.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        allow_http: bool = False,
        authorities: Path | None = None,
        limits: ClientLimits | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        """Trust the system's authorities and those of the PEM file `authorities`."""
        self._policy = policy
        self._allow_http = allow_http
        self._verification = ServerVerification(authorities)
        self._limits = limits or ClientLimits()
        self._resolve = resolver or SystemResolver()
        self._free = asyncio.Semaphore(self._limits.at_once)

    async def get(self, url: str) -> Response:
        """Request the URL by GET."""
        return await self._in_time("GET", url, (), b"")

    async def post(
        self, url: str, content: bytes, media_type: str, headers: Sequence[tuple[str, str]] = ()
    ) -> Response:
        """Request the URL by POST."""
        length = str(len(content))
        described = (("Content-Type", media_type), ("Content-Length", length), *headers)
        return await self._in_time("POST", url, described, content)

    async def _in_time(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], content: bytes
    ) -> Response:
        target = parse_target(url, allow_http=self._allow_http)
        request = h11.Request(method=method, target=target.path, headers=_headers(target, headers))
        try:
            async with asyncio.timeout(self._limits.time.total_seconds()), self._free:
                return await self._exchange(target, request, content)
        except TimeoutError as error:
            raise DocumentUnavailable(f"{target.host} did not answer in time") from error
        except h11.RemoteProtocolError as error:
            raise DocumentUnavailable(f"{target.host} does not answer in HTTP/1.1") from error
        except OSError as error:  # ssl.SSLError and socket.gaierror among them
            raise DocumentUnavailable(f"{target.host} is not reachable: {error}") from error

    async def _exchange(
        self, target: RequestTarget, request: h11.Request, content: bytes
    ) -> Response:
        reader, writer = await self._connect(target)
        try:
            connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD_BYTES)
            events = (request, h11.Data(data=content), h11.EndOfMessage())
            writer.writelines([connection.send(event) or b"" for event in events])
            await writer.drain()
            return await self._response(connection, reader)
        finally:
            writer.transport.abort()

    async def _connect(
        self, target: RequestTarget
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        found = await self._resolve(target.host, target.port)
        allowed = [address for address in found if self._policy.permits(address)]
        if not allowed:
            text = f"{target.host} has no address that is allowed: see REALMGATE_FETCH_NETWORKS"
            raise DocumentUnavailable(text)
        tls = self._verification.context() if target.secure else None
        name = target.host if target.secure else None
        failure: OSError = OSError("no address")
        for address in allowed[:_MOST_ADDRESSES]:
            try:
                return await asyncio.open_connection(
                    address, target.port, ssl=tls, server_hostname=name
                )
            except OSError as error:
                failure = error
        raise failure

    async def _response(self, connection: h11.Connection, reader: asyncio.StreamReader) -> Response:
        status, body = 0, bytearray()
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(_CHUNK))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > self._limits.most_bytes:
                    raise DocumentUnavailable(f"larger than {self._limits.most_bytes} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return Response(status, bytes(body))


def _headers(target: RequestTarget, more: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        ("Host", target.authority),
        ("User-Agent", _USER_AGENT),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        *more,
    ]


class GuardedSockets:
    """Connects to public addresses and to networks that the operator allows."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver | None = None) -> None:
        self._policy = policy
        self._resolve = resolver or SystemResolver()

    async def connect(self, host: str, port: int) -> socket.socket:
        """Return a connected socket; raises OSError, also where no address is allowed."""
        found = await self._resolve(host, port)
        allowed = [address for address in found if self._policy.permits(address)]
        failure = OSError(f"{host} has no address that is allowed: see REALMGATE_MAIL_NETWORKS")
        for address in allowed[:_MOST_ADDRESSES]:
            try:
                return await _connected(address, port)
            except OSError as error:
                failure = error
        raise failure


async def _connected(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with ExitStack() as failed:
        opened = failed.enter_context(socket.socket(family, socket.SOCK_STREAM))
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, (address, port))
        failed.pop_all()
    return opened
