"""An answer waits for what is left of a small body.

Bodies come as the client sends them, and some answers are known before: whoever has no token is
refused unheard. Closed then, the connection breaks under a proxy that is still writing, and the
answer is lost. A body that is large or slow is not worth the wait.
Spec: RFC 9112 §9.6 (closing while the peer still sends destroys the answer)
"""

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LARGEST: Final = 1024 * 1024
_LONGEST_WAIT: Final = 5.0
_HAS_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})


class UnreadBody:
    """Reads and forgets the rest of a body before the answer to it begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve HTTP; what has no body passes by."""
        if scope["type"] != "http" or not any(name in _HAS_BODY for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def send_after_body(message: Message) -> None:
            if message["type"] == "http.response.start" and not body.over:
                await body.read_rest()
            await send(message)

        await self._app(scope, body.receive, send_after_body)


class _Body:
    """What is received, and whether that was all."""

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
