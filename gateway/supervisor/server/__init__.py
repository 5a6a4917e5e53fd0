"""The HTTP server of a worker: `serve` runs one ASGI application on one socket.

Hypercorn accepts the connections. Requests that arrive whole are answered by this package, all
others by Hypercorn through h11. OVERRIDES lists the replaced parts of Hypercorn and h11, which have
no public interface for any of it. Before CHECKED_VERSIONS names a new version, read each entry
against the source of that version and run the tests of the server. A test fails for another
installed version, for a name that is gone and for an override that is missing here.
"""

from typing import Final

from gateway.supervisor.server.connections import KEEP_ALIVE, Serving, serve

CHECKED_VERSIONS: Final = {"hypercorn": "0.18.0", "h11": "0.16.0"}

OVERRIDES: Final = {
    "hypercorn.asyncio.tcp_server.TCPServer.__init__": "wraps the application, sets `idle_task`",
    "hypercorn.asyncio.tcp_server.TCPServer.idle_task": "one timer in place of a task a pause",
    "hypercorn.asyncio.tcp_server.TCPServer.protocol_send": "drops unread bodies, limits waiting",
    "hypercorn.asyncio.tcp_server.TCPServer._read_data": "answers whole requests without h11",
    "hypercorn.asyncio.tcp_server.TCPServer._close": "limits how long the end may stay unread",
    "hypercorn.app_wrappers.ASGIWrapper.__call__": "drops the unread rest of a request's queue",
    "hypercorn.asyncio.worker_context.EventWrapper.wait": "raises once the connection is closed",
    "hypercorn.asyncio.worker_context.EventWrapper._event": "set to release what waits",
    "hypercorn.protocol.ProtocolWrapper.protocol": "Http11 in place of H11Protocol",
    "hypercorn.protocol.h11.H11Protocol.__init__": "sets `can_read` and h11's receive buffer",
    "hypercorn.protocol.h11.H11Protocol.can_read": "an event that ends with the connection",
    "hypercorn.protocol.h11.H11Protocol.handle": "follows the state for the peer timeout",
    "hypercorn.protocol.h11.H11Protocol._check_protocol": "no upgrade, no HTTP/2",
    "hypercorn.protocol.h11.H11Protocol._create_stream": "refuses two lengths and large heads",
    "hypercorn.protocol.h11.H11Protocol._send_error_response": "gives a refusal a JSON body",
    "hypercorn.protocol.h11.H11Protocol._send_h11_event": "sends that body; adds reason phrases",
    "h11._connection.Connection._receive_buffer": "a buffer that refuses folded lines",
    "h11._receivebuffer.ReceiveBuffer.maybe_extract_lines": "refuses folded lines",
}
"""Dotted name in the library: what the replacement, or the use of a private name, is for."""
