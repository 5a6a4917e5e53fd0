"""Device authorizations in Redis: one script a call, so that of many polls one spends a code.

`rg:device-code:<realm>:<device code>` is the authorization with its status and approval, and
`rg:device-user-code:<realm>:<user code>` the device code, until the user has answered.
`rg:device-polled:<realm>:<device code>` exists for the interval after a poll, and
`rg:device-guesses:<realm>:<address>` counts unknown user codes. Every key expires. The script
counts the bytes of what was asked for in the name of public clients and waits for an answer; in a
realm that has too many it removes the oldest ones of the network with the most.
Spec: RFC 8628 §3.5, §5.1; Keycloak: 1.8
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from gateway.domain.limits.fair_share import caller_network
from gateway.domain.ports.sign_in.device_authorizations import MOST_ANONYMOUS_BYTES
from gateway.domain.sign_in.device_authorizations import (
    DeviceApproval,
    DeviceAuthorization,
    DeviceOfUserCode,
    DevicePoll,
    DeviceStatus,
    GuessLimit,
)
from gateway.storage.redis.connection import RedisClient
from gateway.storage.redis.server_script import LoadScript, ServerScript

_MILLISECOND: Final = timedelta(milliseconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class RedisDeviceAuthorizations:
    """DeviceAuthorizationStore in the server that `client` is connected to."""

    def __init__(
        self,
        client: RedisClient,
        load: LoadScript = ServerScript,
        *,
        most_anonymous_bytes: int = MOST_ANONYMOUS_BYTES,
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
        approved = _approval(approval[0]) if approval else None
        return DevicePoll(DeviceStatus(status), _decode(authorization), approved)

    async def take(self, realm_id: str, device_code: str) -> bool:
        return bool(await self._run("take", realm_id, device_code))

    async def find(
        self, realm_id: str, user_code: str, address: str, limit: GuessLimit
    ) -> DeviceOfUserCode:
        numbers = limit.most, limit.window // _MILLISECOND
        status, *rest = await self._run("find", realm_id, user_code, address, *numbers)
        return DeviceOfUserCode(DeviceStatus(status), _decode(rest[0]) if rest else None)

    async def approve(
        self, realm_id: str, user_code: str, client: str, approval: DeviceApproval
    ) -> bool:
        values = (
            *(approval.session_id, approval.user_id, _number(approval.approved_at)),
            *(approval.acr, _number(approval.authenticated_at)),
        )
        text = orjson.dumps(values).decode()
        return bool(await self._run("approve", realm_id, user_code, client, text))

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


def _approval(text: str) -> DeviceApproval:
    session_id, user_id, approved_at, acr, authenticated_at = orjson.loads(text)
    return DeviceApproval(
        session_id,
        user_id,
        _EPOCH + approved_at * _MICROSECOND,
        acr,
        _instant(authenticated_at),
    )


def _number(instant: datetime | None) -> int | None:
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND


def _instant(number: Any) -> datetime | None:
    return None if number is None else _EPOCH + number * _MICROSECOND
