"""Sign-ins that are not finished, in Redis: `rg:authentication-session:<realm>:<id>`.

The key is a hash of one browser, with a field for each tab: the instant when the tab's session
ends, its version, and JSON. Every call is one script and so atomic. The key expires with the tab
that ends last. Sessions end by the clock of the server.

Anonymous callers begin sign-ins: the script counts the bytes of those in which no credential was
right; in a realm that has too many it removes the oldest ones of the network with the most. A
sign-in belongs to the network of its last step.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson

from gateway.domain.authentication import AuthenticationSession, ExecutionStatus, Stage
from gateway.domain.clock import MICROSECOND, Clock, instant_of, microseconds_of
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.fair_share import caller_network
from gateway.domain.ports.sign_in import MOST_BYTES, MOST_TABS, MOST_UNPROVEN_BYTES
from gateway.storage.redis.connection import LoadScript, RedisClient, ServerScript

_TEXTS: Final[Mapping[str, str]] = {
    "c": "client",
    "f": "flow",
    "v": "flow_version",
    "e": "execution",
    "u": "user_id",
    "n": "attempted_username",
    "a": "required_action",
    "k": "session_code",
}
"""Names in the JSON, and the fields that are stored as they are; None is left out."""


class RedisAuthenticationSessions:
    """AuthenticationSessionStore in the server of `client`; `clock` is that of `expires_at`."""

    def __init__(
        self,
        client: RedisClient,
        clock: Clock,
        load: LoadScript = ServerScript,
        *,
        most_unproven_bytes: int = MOST_UNPROVEN_BYTES,
    ) -> None:
        self._clock = clock
        self._most_unproven = most_unproven_bytes
        self._run = load(client, "authentication_sessions")

    async def add(self, session: AuthenticationSession, expires_at: datetime) -> None:
        stored = self._stored(session, expires_at)
        await self._run("add", session.realm_id, session.id, MOST_TABS, *stored)

    async def find_tab(
        self, realm_id: str, session_id: str, tab_id: str
    ) -> AuthenticationSession | None:
        found = await self._run("find", realm_id, session_id, tab_id)
        if not found:
            return None
        version, text = found
        return _decode(realm_id, session_id, tab_id, int(version), text)

    async def replace(
        self, before: AuthenticationSession, after: AuthenticationSession, expires_at: datetime
    ) -> bool:
        stored = self._stored(after, expires_at)
        place = (before.realm_id, before.id)
        return bool(await self._run("replace", *place, before.version, after.id, *stored))

    async def remove_browser(self, realm_id: str, session_id: str) -> None:
        await self._run("delete", realm_id, session_id)

    async def remove_tab(self, realm_id: str, session_id: str, tab_id: str) -> None:
        await self._run("remove", realm_id, session_id, tab_id)

    def _stored(
        self, session: AuthenticationSession, expires_at: datetime
    ) -> tuple[str, int, int, str, int]:
        """Return tab, remaining microseconds, version, text, and the limit of bytes or 0."""
        lasts = max(0, (expires_at - self._clock.now()) // MICROSECOND)
        most = 0 if session.used else self._most_unproven
        return session.tab_id, lasts, session.version, _encode(session), most


def _encode(session: AuthenticationSession) -> str:
    fields: dict[str, Any] = {"w": caller_network()}  # first, where the script reads it
    fields |= {name: getattr(session, field) for name, field in _TEXTS.items()}
    fields |= {
        "s": microseconds_of(session.started_at),
        "g": session.stage.value,
        "l": session.level,
        "m": 1 if session.remember_me else None,
        "d": sorted(session.used) or None,
        "r": dict(session.request) or None,
        "x": dict(session.statuses) or None,
        "o": dict(session.notes) or None,
    }
    try:
        text = orjson.dumps({name: value for name, value in fields.items() if value is not None})
    except orjson.JSONEncodeError:
        raise _refused("characters that cannot be stored", "Unicode") from None
    if len(text) > MOST_BYTES:
        raise _refused(f"{len(text)} bytes", f"at most {MOST_BYTES}")
    return text.decode()


def _decode(
    realm_id: str, session_id: str, tab_id: str, version: int, text: str
) -> AuthenticationSession:
    fields = orjson.loads(text)
    statuses = fields.get("x", {})
    return AuthenticationSession(
        id=session_id,
        tab_id=tab_id,
        realm_id=realm_id,
        started_at=instant_of(fields["s"]),
        stage=Stage(fields["g"]),
        level=fields.get("l"),
        remember_me="m" in fields,
        used=frozenset(fields.get("d", ())),
        request=fields.get("r", {}),
        statuses={name: ExecutionStatus(status) for name, status in statuses.items()},
        notes=fields.get("o", {}),
        version=version,
        **{field: fields[name] for name, field in _TEXTS.items() if name in fields},
    )


def _refused(given: str, allowed: str) -> InvalidInput:
    return InvalidInput((FieldError("authentication session", given, allowed),))
