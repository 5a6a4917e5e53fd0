"""What the server is given: one application on one socket, and its time limits.

Connections stay open longer than any proxy's pool keeps them, or the proxy would send a POST into
a closing one and answer 502 (nginx keeps idle upstream connections for 60 s).
"""

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

KEEP_ALIVE = timedelta(seconds=120)
LARGEST_HEAD = 64 * 1024
"""Bytes of a request's head; a larger one is refused with 400 or 431."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One ASGI application on one socket until `end` returns; then `grace` to finish."""

    application: Any
    listener: socket.socket
    end: Callable[[], Awaitable[object]]
    grace: timedelta
    peer_timeout: timedelta = KEEP_ALIVE
    """How long it waits for a peer: for a request, the rest of one, or to read the response."""
