"""Pushed authorization requests in Redis, each for one client and one response.

`rg:pushed-request:<realm>:<client>:<reference>` is the JSON of the parameters, and once the request
was used an empty mark; both expire by themselves. The thumbprint of a certificate stands beside the
parameters, and whether they came in a verified request object; the network of the caller before
them. The script counts the bytes of the requests of public clients; of a realm that has too many it
removes the oldest of the network with the most.
Spec: RFC 9126 §2.2, §7.3
"""

from datetime import timedelta
from typing import Final

import orjson

from gateway.domain.limits.fair_share import caller_network
from gateway.domain.ports.sign_in.pushed_requests import MOST_ANONYMOUS_BYTES, PushedParameters
from gateway.storage.redis.connection import RedisClient
from gateway.storage.redis.server_script import LoadScript, ServerScript

_MILLISECOND: Final = timedelta(milliseconds=1)
_CERTIFICATE: Final = "x5t#S256"
_SIGNED: Final = "signed#object"
_NETWORK: Final = "caller#network"
"""It comes first, where the script reads it."""
_OWN: Final = {_CERTIFICATE, _SIGNED, _NETWORK}
"""Parameters with these names are left out: the store alone writes them."""


class RedisPushedRequests:
    """PushedRequestStore in the server that `client` is connected to."""

    def __init__(
        self,
        client: RedisClient,
        load: LoadScript = ServerScript,
        *,
        most_anonymous_bytes: int = MOST_ANONYMOUS_BYTES,
    ) -> None:
        self._run = load(client, "pushed_requests")
        self._most_anonymous = most_anonymous_bytes

    async def add(
        self,
        realm_id: str,
        client: str,
        reference: str,
        pushed: PushedParameters,
        lifespan: timedelta,
    ) -> None:
        members = {_NETWORK: caller_network()}
        members |= {name: text for name, text in pushed.values.items() if name not in _OWN}
        if pushed.certificate is not None:
            members[_CERTIFICATE] = pushed.certificate
        if pushed.was_signed:
            members[_SIGNED] = "true"
        text = orjson.dumps(members).decode()
        most = self._most_anonymous if pushed.is_anonymous else 0
        name = _name(client, reference)
        await self._run("add", realm_id, name, text, max(1, lifespan // _MILLISECOND), most)

    async def find(self, realm_id: str, client: str, reference: str) -> PushedParameters | None:
        found = await self._run("find", realm_id, _name(client, reference))
        if not found:
            return None
        values = orjson.loads(found)
        values.pop(_NETWORK, None)
        certificate, was_signed = values.pop(_CERTIFICATE, None), values.pop(_SIGNED, None)
        return PushedParameters(values, certificate, was_signed=was_signed is not None)

    async def use(self, realm_id: str, client: str, reference: str, remembered: timedelta) -> bool:
        lasts = max(1, remembered // _MILLISECOND)
        return bool(await self._run("use", realm_id, _name(client, reference), lasts))


def _name(client: str, reference: str) -> str:
    return f"{client}:{reference}"
