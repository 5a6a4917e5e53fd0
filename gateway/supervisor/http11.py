"""HTTP/1.1 and nothing it could turn into, with a body in every refusal.

Hypercorn would switch to WebSocket, which nothing here speaks, or to HTTP/2 in the clear, whose
requests a proxy in front does not see. A server may ignore `Upgrade`.
Spec: RFC 9110 §7.8 (Upgrade), RFC 9113 §3.3 (prior knowledge)
"""

from typing import Final

import h11
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol

_UPGRADE: Final = b"upgrade"
_REFUSAL: Final = (
    b'{"error":"invalid_request","error_description":"The request is not well-formed HTTP/1.1"}'
)


class Http11(H11Protocol):
    """The requests and answers of one connection."""

    async def _check_protocol(self, event: h11.Request) -> None:
        """Stay with HTTP/1.1."""

    async def _create_stream(self, request: h11.Request) -> None:
        kept = [(name, value) for name, value in request.headers if name != _UPGRADE]
        if len(kept) < len(request.headers):
            request = h11.Request(
                method=request.method,
                target=request.target,
                headers=kept,
                http_version=request.http_version,
            )
        await super()._create_stream(request)

    async def _send_error_response(self, status_code: int) -> None:
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(_REFUSAL)).encode()),
            (b"connection", b"close"),
            *self.config.response_headers("h11"),
        ]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=_REFUSAL))
        await self._send_h11_event(h11.EndOfMessage())


def keep_to_http11(connection: ProtocolWrapper) -> None:
    """Give a new connection this protocol instead of Hypercorn's own."""
    connection.protocol = Http11(
        connection.app,
        connection.config,
        connection.context,
        connection.task_group,
        connection.state,
        connection.ssl,
        connection.client,
        connection.server,
        connection.send,
    )
