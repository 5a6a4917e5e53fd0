"""Authorization codes in Redis: one script a call, so that of many callers one redeems a code.

`rg:authorization-code:<realm>:<code>` is the code as JSON, and once it was redeemed an empty mark,
then `replayed`. Both expire by themselves. The key has all of the code, so that one whose session
or client was edited is unknown.
Spec: RFC 6749 §4.1.2; attacks: C4, C5
"""

from datetime import UTC, datetime, timedelta
from typing import Final

import orjson

from gateway.domain.authorization_codes import (
    AuthorizationCode,
    CodeName,
    RedeemedCode,
    Redemption,
)
from gateway.storage.redis.connection import RedisClient
from gateway.storage.redis.server_script import LoadScript, ServerScript

_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class RedisAuthorizationCodes:
    """AuthorizationCodeStore in the server that `client` is connected to."""

    def __init__(self, client: RedisClient, load: LoadScript = ServerScript) -> None:
        self._run = load(client, "authorization_codes")

    async def add(self, realm_id: str, code: AuthorizationCode, lifespan: timedelta) -> None:
        arguments = (_encode(code), max(1, lifespan // _MILLISECOND))
        await self._run("add", _key(realm_id, code.name), *arguments)

    async def redeem(self, realm_id: str, name: CodeName, replay_window: timedelta) -> RedeemedCode:
        window = max(1, replay_window // _MILLISECOND)
        redemption, text = await self._run("redeem", _key(realm_id, name), window)
        return RedeemedCode(Redemption(redemption), _decode(name, text) if text else None)

    async def was_replayed(self, realm_id: str, name: CodeName) -> bool:
        return bool(await self._run("was_replayed", _key(realm_id, name)))


def _key(realm_id: str, name: CodeName) -> str:
    return f"rg:authorization-code:{realm_id}:{name.text}"


def _encode(code: AuthorizationCode) -> str:
    values = (
        *(code.user_id, code.scope, _number(code.issued_at), code.redirect_uri, code.nonce),
        *(code.code_challenge, code.code_challenge_method, code.certificate, code.acr),
        *(_number(code.authenticated_at), code.claims),
    )
    return orjson.dumps(values).decode()


def _decode(name: CodeName, text: str) -> AuthorizationCode:
    values = orjson.loads(text)
    user_id, scope, issued_at, redirect_uri, nonce, *rest = values
    challenge, method, certificate, acr, authenticated_at, claims = rest
    return AuthorizationCode(
        name=name,
        user_id=user_id,
        scope=scope,
        issued_at=_EPOCH + issued_at * _MICROSECOND,
        redirect_uri=redirect_uri,
        nonce=nonce,
        code_challenge=challenge,
        code_challenge_method=method,
        certificate=certificate,
        acr=acr,
        authenticated_at=None
        if authenticated_at is None
        else _EPOCH + authenticated_at * _MICROSECOND,
        claims=claims,
    )


def _number(instant: datetime | None) -> int | None:
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND
