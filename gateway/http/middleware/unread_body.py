"""A response waits for the rest of a small body.

Some responses are known before the body has arrived, such as 401 without a token. If the
connection is closed then, a proxy that is still writing loses the response. For a large or slow
body the response does not wait.
Spec: RFC 9112 §9.6 (closing while the peer still sends destroys the answer)
"""

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LARGEST: Final = 1024 * 1024
_LONGEST_WAIT: Final = 5.0
_HAS_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})


class UnreadBody:
    """Reads and discards the rest of a body before the response begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def send_after_body(message: Message) -> None:
            if message["type"] == "http.response.start" and not body.over:
                await body.read_rest()
            await send(message)

        await self._app(scope, body.receive, send_after_body)


def _has_body(scope: Scope) -> bool:
    for name, _ in scope["headers"]:  # noqa: SIM110 - for every request: a generator costs more
        if name in _HAS_BODY:
            return True
    return False


class _Body:
    """The messages of a body; `over` after the last."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.over = False

    async def receive(self) -> Message:
        message = await self._receive()
        self.over = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def read_rest(self) -> None:
        left = _LARGEST
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                while not self.over and left > 0:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return
