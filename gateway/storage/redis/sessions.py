"""Online sessions, and sessions of browsers at protected sites, in Redis until they expire or end.

A session is one key, `rg:session:<realm>:<id>`: a line of instants and the user's id, a line of
JSON, and a line for each client. Three kinds of sorted sets hold its id: that of the realm by
expiry, those of the user and of each client by start. Every call is one script and so atomic, and a
refresh of an ended session finds no key to write to. An authorization code is written by the call
that begins or joins its session.

Sessions expire by the clock of the server: gateways pass how long a session lasts from now on, so
that none ends a session of another. Later calls of the same realm remove expired ids from the sets,
at least as fast as new sessions arrive, and so does `purge`; keys expire a day later. Ids contain
neither spaces nor colons (representations: UrlName).
Keycloak: 3 (sessions); attacks: a session that is revived by a parallel refresh

`rg:site-session:<realm>:<SHA-256 of the cookie's value>` is JSON that names its user session, with
which it ends. The digest keeps a copy of the store from giving sessions away.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from gateway.domain.authorization_codes import AuthorizationCode, CodeName, IssuedCode
from gateway.domain.clock import MICROSECOND, Clock, instant_of, microseconds_of
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput
from gateway.domain.forward_auth import SiteSession
from gateway.domain.sessions import ClientSession, ExpectedPart, UserSession
from gateway.storage.redis.connection import LoadScript, RedisClient, ServerScript, named_failures


def code_key(realm_id: str, name: CodeName) -> str:
    """Return the key of a code."""
    return f"rg:authorization-code:{realm_id}:{name.text}"


def encode_code(code: AuthorizationCode) -> str:
    """Return the stored text, without the code itself."""
    values = (
        *(code.user_id, code.scope, microseconds_of(code.issued_at), code.redirect_uri, code.nonce),
        *(code.code_challenge, code.code_challenge_method, code.certificate, code.acr),
        None if code.authenticated_at is None else microseconds_of(code.authenticated_at),
        code.claims,
        # Earlier versions read such codes too, without what follows.
        code.proof_key,
        code.generation,
    )
    return orjson.dumps(values).decode()


def decode_code(name: CodeName, text: str) -> AuthorizationCode:
    """Return a code from its stored text."""
    values = orjson.loads(text)
    user_id, scope, issued_at, redirect_uri, nonce, *rest = values
    challenge, method, certificate, acr, authenticated_at, claims, *last = rest
    proof_key, generation = [*last, None, None][:2]
    return AuthorizationCode(
        name=name,
        user_id=user_id,
        scope=scope,
        issued_at=instant_of(issued_at),
        redirect_uri=redirect_uri,
        nonce=nonce,
        code_challenge=challenge,
        code_challenge_method=method,
        certificate=certificate,
        acr=acr,
        authenticated_at=None if authenticated_at is None else instant_of(authenticated_at),
        claims=claims,
        proof_key=proof_key,
        generation=generation,
    )


_MILLISECOND = timedelta(milliseconds=1)
_ENDED_AT_ONCE: Final = 500
_COUNTED_AT_ONCE: Final = 1_000


class RedisSessions:
    """SessionStore in the server of `client`; `clock` is that of `expires_at`."""

    def __init__(self, client: RedisClient, clock: Clock, load: LoadScript = ServerScript) -> None:
        self._clock = clock
        self._run = load(client, "sessions")

    async def add(
        self, session: UserSession, expires_at: datetime, code: IssuedCode | None = None
    ) -> None:
        arguments = (
            *(session.id, _encode(session), self._lasts(expires_at)),
            *_code_arguments(session.realm_id, code),
        )
        if not await self._run("add", session.realm_id, *arguments):
            raise AlreadyExists("Session exists")

    async def find_session(self, realm_id: str, session_id: str) -> UserSession | None:
        text = await self._run("find", realm_id, session_id)
        return None if text is None else decode_session(realm_id, session_id, text)

    async def join(
        self,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        code: IssuedCode | None = None,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        more = (_expected(expected), "", *_code_arguments(realm_id, code))
        return await self._move("join", realm_id, session_id, client, expires_at, *more)

    async def renew(
        self,
        session: UserSession,
        client: ClientSession,
        expires_at: datetime,
        code: IssuedCode | None = None,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        realm_id = session.realm_id
        more = (_expected(expected), _encode_own(session), *_code_arguments(realm_id, code))
        return await self._move("join", realm_id, session.id, client, expires_at, *more)

    async def refresh(
        self,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        more = _expected(expected)
        return await self._move("refresh", realm_id, session_id, client, expires_at, more)

    async def leave(self, realm_id: str, session_id: str, client: str) -> None:
        await self._run("leave", realm_id, session_id, client)

    async def detach(self, realm_id: str, session_id: str, client: str) -> None:
        await self._run("detach", realm_id, session_id, client)

    async def leave_all(self, realm_id: str, client: str) -> None:
        while await self._run("leave_all", realm_id, _ENDED_AT_ONCE, client) == _ENDED_AT_ONCE:
            pass

    async def end(self, realm_id: str, session_id: str) -> bool:
        return bool(await self._run("end", realm_id, session_id))

    async def end_of_user(self, realm_id: str, user_id: str) -> int:
        return await self._end_all("end_of_user", realm_id, user_id)

    async def end_of_realm(self, realm_id: str) -> int:
        return await self._end_all("end_of_realm", realm_id)

    async def of_user(self, realm_id: str, user_id: str) -> tuple[UserSession, ...]:
        return _decode_all(realm_id, await self._run("of_user", realm_id, user_id))

    async def of_client(
        self, realm_id: str, client: str, first: int, maximum: int
    ) -> tuple[UserSession, ...]:
        return _decode_all(realm_id, await self._run("of_client", realm_id, client, first, maximum))

    async def count_of_client(self, realm_id: str, client: str) -> int:
        return int(await self._run("count_of_client", realm_id, client))

    async def counts_of_clients(self, realm_id: str, clients: Sequence[str]) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for start in range(0, len(clients), _COUNTED_AT_ONCE):
            some = clients[start : start + _COUNTED_AT_ONCE]
            counts = await self._run("counts_of_clients", realm_id, *some)
            found |= {client: count for client, count in zip(some, counts, strict=True) if count}
        return found

    async def purge(self, realm_id: str) -> int:
        purged = 0
        while some := int(await self._run("purge", realm_id)):
            purged += some
        return purged

    async def _move(
        self,
        operation: str,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        *more: str | int,
    ) -> bool:
        arguments: tuple[str | int, ...] = (
            session_id,
            microseconds_of(client.refreshed_at),
            self._lasts(expires_at),
            client.client,
            _encode_part(client),
            *more,
        )
        return bool(await self._run(operation, realm_id, *arguments))

    async def _end_all(self, operation: str, realm_id: str, *arguments: str) -> int:
        ended = 0
        while True:
            some: int
            some, seen = await self._run(operation, realm_id, _ENDED_AT_ONCE, *arguments)
            ended += some
            if seen < _ENDED_AT_ONCE:
                return ended

    def _lasts(self, expires_at: datetime) -> int:
        """Return how long a session lasts from now on, in microseconds."""
        return (expires_at - self._clock.now()) // MICROSECOND


def session_key(realm_id: str, session_id: str) -> str:
    """Return the key of a session."""
    return f"rg:session:{realm_id}:{session_id}"


def _code_arguments(realm_id: str, code: IssuedCode | None) -> tuple[str | int, ...]:
    """Return key, text and lifespan in milliseconds of a code that is stored with its session."""
    if code is None:
        return ()
    lifespan = max(1, code.lifespan // _MILLISECOND)
    return (code_key(realm_id, code.code.name), encode_code(code.code), lifespan)


def _expected(part: ExpectedPart | None) -> str:
    """Return the argument of the script: empty for any part, `-` for none."""
    if part is None:
        return ""
    return "-" if part.started_at is None else str(microseconds_of(part.started_at))


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        error = FieldError("session", "characters that cannot be stored", "Unicode")
        raise InvalidInput((error,)) from None


def _encode(session: UserSession) -> str:
    """Return the stored text, without the instant of expiry."""
    instants = (session.started_at, session.refreshed_at)
    head = " ".join((*(str(microseconds_of(instant)) for instant in instants), session.user_id))
    lines = (head, _encode_own(session), *map(_encode_part, session.clients.values()))
    return "".join(f"{line}\n" for line in lines)


def _encode_own(session: UserSession) -> str:
    """Return what a new sign-in of the same user replaces."""
    own = [session.username, session.ip_address, int(session.remember_me)]
    return _json([*own, dict(session.notes)] if session.notes else own)


def _encode_part(part: ClientSession) -> str:
    instants = f"{microseconds_of(part.started_at)} {microseconds_of(part.refreshed_at)}"
    signed_in = part.authenticated_at
    if part.acr is None and signed_in is None and not part.claims:
        return f"{part.client} {instants} {_json(part.scope)}"
    own = [
        part.scope,
        part.acr,
        None if signed_in is None else microseconds_of(signed_in),
        part.claims,
    ]
    return f"{part.client} {instants} {_json(own)}"


def decode_session(realm_id: str, session_id: str, text: str) -> UserSession:
    """Return a session from its stored text."""
    head, rest, *parts = text.removesuffix("\n").split("\n")
    _, started_at, refreshed_at, user_id = head.split(" ")
    username, ip_address, remember_me, *notes = orjson.loads(rest)
    return UserSession(
        id=session_id,
        realm_id=realm_id,
        user_id=user_id,
        username=username,
        ip_address=ip_address,
        started_at=instant_of(int(started_at)),
        refreshed_at=instant_of(int(refreshed_at)),
        remember_me=bool(remember_me),
        clients={part.client: part for part in map(_decode_part, parts)},
        notes=notes[0] if notes else {},
    )


def _decode_part(line: str) -> ClientSession:
    client, started_at, refreshed_at, rest = line.split(" ", 3)
    own = orjson.loads(rest)
    instants = (instant_of(int(started_at)), instant_of(int(refreshed_at)))
    if isinstance(own, str):
        return ClientSession(client, *instants, own)
    scope, acr, signed_in, claims = own
    at = None if signed_in is None else instant_of(signed_in)
    return ClientSession(client, *instants, scope, acr, at, claims)


def _decode_all(realm_id: str, found: Sequence[str]) -> tuple[UserSession, ...]:
    pairs: Iterator[str] = iter(found)
    return tuple(
        decode_session(realm_id, session_id, text)
        for session_id, text in zip(pairs, pairs, strict=True)
    )


_SHORTEST: Final = timedelta(milliseconds=1)


class RedisSiteSessions:
    """SiteSessions in the server that `client` is connected to."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def add(self, value: str, session: SiteSession, lifespan: timedelta) -> None:
        document = {
            "site": session.site,
            "client": session.client,
            "user": session.user_id,
            "session": session.session_id,
            "created": session.created_at.timestamp(),
            "generation": session.generation,
        }
        key = _key(session.realm_id, value)
        with named_failures():
            await self._client.set(key, orjson.dumps(document), px=max(lifespan, _SHORTEST))

    async def find_session(self, realm_id: str, value: str) -> SiteSession | None:
        with named_failures():
            found = await self._client.get(_key(realm_id, value))
        if found is None:
            return None
        document = orjson.loads(found)
        return SiteSession(
            site=document["site"],
            realm_id=realm_id,
            client=document["client"],
            user_id=document["user"],
            session_id=document["session"],
            created_at=datetime.fromtimestamp(document["created"], UTC),
            generation=document.get("generation"),
        )

    async def end(self, realm_id: str, value: str) -> None:
        with named_failures():
            await self._client.delete(_key(realm_id, value))


def _key(realm_id: str, value: str) -> str:
    return f"rg:site-session:{realm_id}:{hashlib.sha256(value.encode()).hexdigest()}"
