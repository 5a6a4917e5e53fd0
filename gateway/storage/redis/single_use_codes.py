"""Codes and references in Redis that one of many callers redeems, by one script a call.

`rg:authorization-code:<realm>:<code>` is the code as JSON, and once it was redeemed an empty mark,
then `replayed`. A code is written and read together with its session (sessions.py), so that the two
agree; a code whose session or client was edited is unknown. Spec: RFC 6749 §4.1.2; attacks: C4, C5

`rg:device-code:<realm>:<device code>` is the authorization with its status and approval, and
`rg:device-user-code:<realm>:<user code>` the device code, until the user has answered.
`rg:device-polled:<realm>:<device code>` exists for the interval after a poll, and
`rg:device-guesses:<realm>:<address>` counts unknown user codes.
Spec: RFC 8628 §3.5, §5.1; Keycloak: 1.8 device grant

`rg:pushed-request:<realm>:<client>:<reference>` is the JSON of the parameters, and once the request
was used an empty mark. Before the parameters is the network of the caller, beside them the
thumbprint of a certificate, and whether they came in a verified request object.
Spec: RFC 9126 §2.2, §7.3

`rg:used:<realm>:<name>` exists while a one-time mark must not be used again. Spec: RFC 6238 §5.2

Every key expires. The bytes of pending requests of public clients are counted; in a realm with too
many, the oldest of the network with the most are removed.
"""

from datetime import timedelta
from typing import Final

import orjson
from redis.asyncio import Redis

from gateway.domain.authorization_codes import (
    CodeName,
    DeviceApproval,
    DeviceAuthorization,
    DeviceOfUserCode,
    DevicePoll,
    DeviceStatus,
    GuessLimit,
    RedeemedCode,
    Redemption,
)
from gateway.domain.clock import instant_of, microseconds_of
from gateway.domain.limits.fair_share import caller_network
from gateway.domain.ports.sign_in import MOST_ANONYMOUS_BYTES as MOST_DEVICE_BYTES
from gateway.domain.ports.sign_in import MOST_ANONYMOUS_BYTES as MOST_PUSHED_BYTES
from gateway.domain.ports.sign_in import PushedParameters
from gateway.storage.redis.connection import LoadScript, RedisClient, ServerScript, named_failures
from gateway.storage.redis.sessions import code_key, decode_code, decode_session, session_key

_MILLISECOND: Final = timedelta(milliseconds=1)


class RedisAuthorizationCodes:
    """AuthorizationCodeStore in the server that `client` is connected to."""

    def __init__(self, client: RedisClient, load: LoadScript = ServerScript) -> None:
        self._run = load(client, "authorization_codes")

    async def redeem(self, realm_id: str, name: CodeName, replay_window: timedelta) -> RedeemedCode:
        window = max(1, replay_window // _MILLISECOND)
        keys = code_key(realm_id, name), session_key(realm_id, name.session_id)
        redemption, text, session = await self._run("redeem", *keys, window)
        return RedeemedCode(
            Redemption(redemption),
            decode_code(name, text) if text else None,
            decode_session(realm_id, name.session_id, session) if session else None,
        )

    async def was_replayed(self, realm_id: str, name: CodeName) -> bool:
        return bool(await self._run("was_replayed", code_key(realm_id, name)))


class RedisDeviceAuthorizations:
    """DeviceAuthorizationStore in the server that `client` is connected to."""

    def __init__(
        self,
        client: RedisClient,
        load: LoadScript = ServerScript,
        *,
        most_anonymous_bytes: int = MOST_DEVICE_BYTES,
    ) -> None:
        self._run = load(client, "device_authorizations")
        self._most_anonymous = most_anonymous_bytes

    async def add(
        self, realm_id: str, authorization: DeviceAuthorization, lifespan: timedelta
    ) -> bool:
        asked = authorization
        added = await self._run(
            *("add", realm_id, asked.device_code, asked.user_code, asked.client),
            *(max(1, lifespan // _MILLISECOND), asked.interval // _MILLISECOND, _encode(asked)),
            *(self._most_anonymous if asked.is_anonymous else 0, caller_network()),
        )
        return bool(added)

    async def poll(self, realm_id: str, device_code: str, client: str) -> DevicePoll:
        status, *rest = await self._run("poll", realm_id, device_code, client)
        if not rest:
            return DevicePoll(DeviceStatus(status))
        authorization, *approval = rest
        approved = _approval(*approval) if approval else None
        return DevicePoll(DeviceStatus(status), _decode(authorization), approved)

    async def redeem(self, realm_id: str, device_code: str) -> bool:
        return bool(await self._run("take", realm_id, device_code))

    async def find_by_user_code(
        self, realm_id: str, user_code: str, address: str, limit: GuessLimit
    ) -> DeviceOfUserCode:
        numbers = limit.most, limit.window // _MILLISECOND
        status, *rest = await self._run("find", realm_id, user_code, address, *numbers)
        return DeviceOfUserCode(DeviceStatus(status), _decode(rest[0]) if rest else None)

    async def approve(
        self, realm_id: str, user_code: str, client: str, approval: DeviceApproval
    ) -> bool:
        signed_in = approval.authenticated_at
        values = (
            *(approval.session_id, approval.user_id, microseconds_of(approval.approved_at)),
            *(approval.acr, None if signed_in is None else microseconds_of(signed_in)),
        )
        text = orjson.dumps(values).decode()
        generation = "" if approval.generation is None else str(approval.generation)
        return bool(await self._run("approve", realm_id, user_code, client, text, generation))

    async def deny(self, realm_id: str, user_code: str, client: str) -> bool:
        return bool(await self._run("deny", realm_id, user_code, client))


def _encode(asked: DeviceAuthorization) -> str:
    values = (
        *(asked.device_code, asked.user_code, asked.client, asked.client_id, asked.scope),
        *(asked.interval // _MILLISECOND, asked.nonce),
        *(asked.code_challenge, asked.code_challenge_method, asked.certificate),
    )
    return orjson.dumps(values).decode()


def _decode(text: str) -> DeviceAuthorization:
    device_code, user_code, client, client_id, scope, interval, *rest = orjson.loads(text)
    pause = interval * _MILLISECOND
    return DeviceAuthorization(device_code, user_code, client, client_id, scope, pause, *rest)


def _approval(text: str, generation: str) -> DeviceApproval:
    session_id, user_id, approved_at, acr, authenticated_at = orjson.loads(text)
    return DeviceApproval(
        session_id,
        user_id,
        instant_of(approved_at),
        acr,
        None if authenticated_at is None else instant_of(authenticated_at),
        int(generation) if generation else None,
    )


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
        most_anonymous_bytes: int = MOST_PUSHED_BYTES,
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

    async def find_request(
        self, realm_id: str, client: str, reference: str
    ) -> PushedParameters | None:
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


class RedisOneTimeMarks:
    """OneTimeMarks in the server that `client` is connected to."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def claim(self, realm_id: str, name: str, lifespan: timedelta) -> bool:
        with named_failures():
            return bool(
                await self._client.set(f"rg:used:{realm_id}:{name}", "", px=lifespan, nx=True)
            )

    async def remaining(self, realm_id: str, name: str) -> timedelta:
        with named_failures():
            found = await self._client.pttl(f"rg:used:{realm_id}:{name}")
        return timedelta(milliseconds=max(int(found), 0))
