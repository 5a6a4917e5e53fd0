"""The ASGI servers that a worker can run, each on sockets that the supervisor opened.

Connections stay open longer than any proxy's pool keeps them, or the proxy would send a POST into
a closing one and answer 502 (nginx keeps idle upstream connections for 60 s).
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from gateway.domain.errors import RealmgateError
from gateway.supervisor.sockets import BACKLOG

KEEP_ALIVE = timedelta(seconds=120)
LARGEST_HEAD = 64 * 1024
_WITHOUT_END = 1 << 62

_MODULES: Final = {
    "hypercorn": ("gateway.supervisor.hypercorn_server",),
    "uvicorn": ("uvicorn", "uvicorn.protocols.http.httptools_impl"),
}

Application = Any
"""An ASGI application; the servers each have a type of their own for it."""


class ServerMissing(RealmgateError):
    """The chosen server is not installed."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One application on one socket, until `end` says so; then `grace` to finish."""

    application: Application
    listener: socket.socket
    end: Callable[[], Awaitable[object]]
    grace: timedelta


Server = Callable[[Serving], Coroutine[Any, Any, None]]


def find_server(name: str) -> Server:
    """Return the server of that name, not imported yet; raises ServerMissing."""
    if name == "hypercorn":
        return serve_with_hypercorn
    if not all(map(find_spec, ("uvicorn", "httptools"))):
        raise ServerMissing("the server uvicorn is not installed: pip install 'realmgate[fast]'")
    return serve_with_uvicorn


def import_server(name: str) -> None:
    """Import the modules of the server of that name."""
    for module in _MODULES[name]:
        import_module(module)


async def serve_with_hypercorn(serving: Serving) -> None:
    """Serve with Hypercorn."""
    from hypercorn.config import Config  # noqa: PLC0415 - only the chosen server

    from gateway.supervisor.hypercorn_server import serve_connections  # noqa: PLC0415

    config = Config()
    config.backlog = BACKLOG
    config.keep_alive_timeout = KEEP_ALIVE.total_seconds()
    config.keep_alive_max_requests = _WITHOUT_END
    config.graceful_timeout = serving.grace.total_seconds()
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    await serve_connections(serving.application, config, serving.listener, serving.end)


async def serve_with_uvicorn(serving: Serving) -> None:
    """Serve with uvicorn and its C parser."""
    import uvicorn  # noqa: PLC0415 - an extra

    class QuietServer(uvicorn.Server):
        def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override] # theirs is a generator
            return nullcontext()

    over_tcp = serving.listener.family != socket.AF_UNIX
    server = QuietServer(
        uvicorn.Config(
            _NamesPeer(serving.application) if over_tcp else serving.application,
            http="httptools",
            ws="none",
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=round(KEEP_ALIVE.total_seconds()),
            timeout_graceful_shutdown=max(1, round(serving.grace.total_seconds())),
        )
    )

    async def ask_to_end() -> None:
        await serving.end()
        server.should_exit = True

    async with asyncio.TaskGroup() as group:
        group.create_task(ask_to_end())
        group.create_task(server.serve([serving.listener]))


class _NamesPeer:
    """Gives a TCP peer that is already gone an address.

    uvicorn then names none, which is how a unix peer, the trusted proxy, is known.
    """

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["client"] is None:
            scope["client"] = ("0.0.0.0", 0)  # noqa: S104 - the address of nobody
        await self._app(scope, receive, send)
