"""Authorization codes in Redis: one script a call, so that of many callers one redeems a code.

`rg:authorization-code:<realm>:<code>` is the code as JSON, and once it was redeemed an empty mark,
then `replayed`. Both expire by themselves. The key has all of the code, so that one whose session
or client was edited is unknown. A code is written together with its session
(sessions.py), and read together with it, so that the two agree.
Spec: RFC 6749 §4.1.2; attacks: C4, C5
"""

from datetime import timedelta
from typing import Final

from gateway.domain.sign_in.authorization_codes import CodeName, RedeemedCode, Redemption
from gateway.storage.redis.code_texts import code_key, decode_code
from gateway.storage.redis.connection import RedisClient
from gateway.storage.redis.server_script import LoadScript, ServerScript
from gateway.storage.redis.sessions import decode_session, session_key

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
