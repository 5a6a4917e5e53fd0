"""TCP connections to servers that others name, such as the mail server of a realm.

They lead to the address that was checked: a name is never resolved twice. CWE-918; attacks C21
"""

import asyncio
import socket
from contextlib import ExitStack
from typing import Final

from gateway.outgoing.address_policy import AddressPolicy
from gateway.outgoing.resolver import Resolver, SystemResolver

_MOST_ADDRESSES: Final = 3
"""Addresses of one host that are tried."""


class GuardedSockets:
    """Connects to public addresses and to networks that the operator allows."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver | None = None) -> None:
        self._policy = policy
        self._resolve = resolver or SystemResolver()

    async def connect(self, host: str, port: int) -> socket.socket:
        """Return a connected socket; raises OSError, also where no address is allowed."""
        found = await self._resolve(host, port)
        allowed = [address for address in found if self._policy.permits(address)]
        failure = OSError(f"{host} has no address that is allowed")
        for address in allowed[:_MOST_ADDRESSES]:
            try:
                return await _connected(address, port)
            except OSError as error:
                failure = error
        raise failure


async def _connected(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with ExitStack() as failed:
        opened = failed.enter_context(socket.socket(family, socket.SOCK_STREAM))
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, (address, port))
        failed.pop_all()
    return opened
