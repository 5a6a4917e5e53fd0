"""The state of a worker between its start and its end.

While a worker ends, readiness fails and every response closes its connection, so that the proxy's
pool is empty before the worker stops listening. Source: attacks F14
"""

from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(slots=True)
class Lifecycle:
    """The state of one worker."""

    started: bool = False
    draining: bool = False


class ClosesWhileDraining:
    """Closes the connection with each response while the worker drains."""

    def __init__(self, app: ASGIApp, lifecycle: Lifecycle) -> None:
        self._app = app
        self._lifecycle = lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def closing(message: Message) -> None:
            if self._lifecycle.draining and message["type"] == "http.response.start":
                message = {
                    **message,
                    "headers": [*message.get("headers", ()), (b"connection", b"close")],
                }
            await send(message)

        await self._app(scope, receive, closing)
