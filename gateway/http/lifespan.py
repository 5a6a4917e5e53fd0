"""Start and end of the server, for which no application here waits.

Spec: ASGI lifespan protocol 2.0
"""

from starlette.types import Receive, Send


async def complete_lifespan(receive: Receive, send: Send) -> None:
    """Confirm each lifespan message at once, until shutdown."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
