"""A server's word that it starts or ends, which no application here waits for.

Spec: ASGI lifespan protocol 2.0
"""

from starlette.types import Receive, Send


async def complete_lifespan(receive: Receive, send: Send) -> None:
    """Agree at once to what the server says, until it ends."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
