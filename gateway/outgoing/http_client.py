"""The one HTTP client for URLs that others name, such as a client's `jwks_uri`.

It connects to the address that was checked, never resolves a name twice, follows no redirect,
uses no proxy of the environment, and sends nothing but the request. One request has a limit of
time in total and of size. CWE-918; attacks C20, C21; Spec: RFC 9112 §2, RFC 9110 §9
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import h11

from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable
from gateway.outgoing.address_policy import AddressPolicy
from gateway.outgoing.resolver import Resolver, SystemResolver
from gateway.outgoing.server_verification import ServerVerification
from gateway.outgoing.target import Target, parse_target

MOST_BYTES: Final = 64 * 1024
_MOST_HEAD_BYTES: Final = 16 * 1024
_AT_ONCE: Final = 32
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
    at_once: int = _AT_ONCE


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
        self,
        url: str,
        content: bytes,
        media_type: str,
        headers: Sequence[tuple[str, str]] = (),
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

    async def _exchange(self, target: Target, request: h11.Request, content: bytes) -> Response:
        reader, writer = await self._connect(target)
        try:
            connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD_BYTES)
            events = (request, h11.Data(data=content), h11.EndOfMessage())
            writer.writelines([connection.send(event) or b"" for event in events])
            await writer.drain()
            return await self._response(connection, reader)
        finally:
            writer.transport.abort()

    async def _connect(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        found = await self._resolve(target.host, target.port)
        allowed = [address for address in found if self._policy.permits(address)]
        if not allowed:
            raise DocumentUnavailable(f"{target.host} has no address that is allowed")
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


def _headers(target: Target, more: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        ("Host", target.authority),
        ("User-Agent", _USER_AGENT),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        *more,
    ]
