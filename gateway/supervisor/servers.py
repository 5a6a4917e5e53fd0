"""The ASGI servers that a worker can run, each on sockets that the supervisor opened."""

import logging
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from gateway.domain.errors import RealmgateError
from gateway.supervisor.serving import LARGEST_HEAD, Serving
from gateway.supervisor.sockets import BACKLOG

_WITHOUT_END: Final = 1 << 62

_MODULES: Final = {
    "hypercorn": "gateway.supervisor.hypercorn_server",
    "uvicorn": "gateway.supervisor.uvicorn_server",
}


class ServerMissing(RealmgateError):
    """The chosen server is not installed."""


Server = Callable[[Serving], Coroutine[Any, Any, None]]


def find_server(name: str) -> Server:
    """Return the server of that name, not imported yet; raises ServerMissing."""
    if name == "hypercorn":
        return serve_with_hypercorn
    if not all(map(find_spec, ("uvicorn", "httptools"))):
        raise ServerMissing("the server uvicorn is not installed: pip install 'realmgate[fast]'")
    return serve_with_uvicorn


def import_server(name: str) -> None:
    """Import the server of that name."""
    import_module(_MODULES[name])


async def serve_with_hypercorn(serving: Serving) -> None:
    """Serve with Hypercorn."""
    from hypercorn.config import Config  # noqa: PLC0415 - only the chosen server

    from gateway.supervisor.hypercorn_server import serve_connections  # noqa: PLC0415

    config = Config()
    config.backlog = BACKLOG
    config.keep_alive_timeout = serving.patience.total_seconds()
    config.keep_alive_max_requests = _WITHOUT_END
    config.graceful_timeout = serving.grace.total_seconds()
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    await serve_connections(serving.application, config, serving.listener, serving.end)


async def serve_with_uvicorn(serving: Serving) -> None:
    """Serve with uvicorn and its C parser."""
    from gateway.supervisor.uvicorn_server import serve  # noqa: PLC0415 - only the chosen server

    await serve(serving)
