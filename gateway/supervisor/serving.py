"""What a server is given: one application on one socket, and how long it waits for whom.

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

Application = Any
"""An ASGI application; the servers each have a type of their own for it."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One application on one socket, until `end` says so; then `grace` to finish."""

    application: Application
    listener: socket.socket
    end: Callable[[], Awaitable[object]]
    grace: timedelta
    patience: timedelta = KEEP_ALIVE
    """How long it waits for a peer: for a request, the rest of one, or to read the answer."""
