"""Whether an access token of this realm holds now.

Signature, issuer, type, time, notBefore, the client, the session, the user it speaks for, and
revocation: one function in front of everything that accepts such a token.
Spec: RFC 8725 §3; RFC 7662 §4; Keycloak: 12.3, 12.4
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import InvalidToken
from gateway.domain.event_errors import CLIENT_DISABLED, USER_DISABLED, USER_SESSION_NOT_FOUND
from gateway.domain.ports.directory import ClientEntry, Directory, UserEntry
from gateway.domain.ports.storage import Database
from gateway.domain.sessions import UserSession
from gateway.domain.users import User
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import Sessions

_OFFLINE_CONTEXT: Final = "of"


class OtherKindOfToken(InvalidToken):
    """This realm signed it, and it is no access token."""


@dataclass(frozen=True, slots=True)
class ActiveToken:
    """A token that holds, the client it was issued to, and the user it speaks for.

    `session` is None for a transient one, such as a service account's.
    """

    claims: Mapping[str, Any]
    client: ClientEntry
    user: UserEntry
    session: UserSession | None


class AccessTokens:
    """Checks access tokens against keys, clients, sessions, users and revocations."""

    def __init__(self, directory: Directory, database: Database, sessions: Sessions) -> None:
        """Look clients and users up in `directory`, revocations in `database`."""
        self._directory = directory
        self._database = database
        self._sessions = sessions

    async def active(self, request: ProtocolRequest, token: str) -> ActiveToken:
        """Return the token's claims; raises InvalidToken with the reason, or StoreUnavailable."""
        return await self.holding(request, self.genuine(request, token))

    async def holding(self, request: ProtocolRequest, claims: Mapping[str, Any]) -> ActiveToken:
        """Return what genuine claims stand for; raises InvalidToken, or StoreUnavailable."""
        realm = request.realm.realm
        entry = await self._directory.client(realm.id, str(claims.get("azp")))
        if entry is None or not entry.client.enabled:
            raise InvalidToken("its client is gone or disabled", CLIENT_DISABLED)
        session = await self._session(request, claims, entry)
        user = await self._user(request, claims, entry, session)
        not_before = max(realm.not_before, entry.client.not_before, user.user.not_before)
        if _instant(claims, "iat") < not_before:
            raise InvalidToken("issued before the realm's, the client's or the user's notBefore")
        if await self._database.lookups.is_revoked(realm.id, str(claims["jti"])):
            raise InvalidToken("it was revoked")
        return ActiveToken(claims, entry, user, session)

    def genuine(self, request: ProtocolRequest, token: str) -> Mapping[str, Any]:
        """Return the claims of an unexpired access token that this realm signed."""
        claims = request.realm.key_ring.verify(token, request.now)
        if claims.get("iss") != request.issuer:
            raise InvalidToken("issued by another issuer")
        if claims.get("typ") != "Bearer":
            raise OtherKindOfToken("not an access token")
        if not isinstance(claims.get("jti"), str):
            raise InvalidToken("it has no jti")
        if _instant(claims, "exp") <= request.now.timestamp():
            raise InvalidToken("expired")
        return claims

    async def _session(
        self, request: ProtocolRequest, claims: Mapping[str, Any], entry: ClientEntry
    ) -> UserSession | None:
        session_id = claims.get("sid")
        if session_id is None:
            return None
        session = await self._sessions.find(
            request.realm.realm,
            str(session_id),
            offline=str(claims["jti"]).startswith(_OFFLINE_CONTEXT),
            now=request.now,
        )
        if session is None or entry.client.id not in session.clients:
            raise InvalidToken("its session is over", USER_SESSION_NOT_FOUND)
        return session

    async def _user(
        self,
        request: ProtocolRequest,
        claims: Mapping[str, Any],
        entry: ClientEntry,
        session: UserSession | None,
    ) -> UserEntry:
        if session is None:
            account = _service_account(entry, claims)
            request.event.user_id = account.id
            return UserEntry(account, entry.roles)
        request.event.user_id = session.user_id
        user = await self._directory.user(request.realm.realm.id, session.user_id)
        if user is None or not user.user.enabled:
            raise InvalidToken("its user is gone or disabled", USER_DISABLED)
        if claims.get("sub", session.user_id) != session.user_id:
            raise InvalidToken("its session is another user's")
        return user


def _service_account(entry: ClientEntry, claims: Mapping[str, Any]) -> User:
    user = entry.service_account
    if user is None or not user.enabled or user.id != claims.get("sub"):
        raise InvalidToken("its user is gone or disabled", USER_DISABLED)
    return user


def _instant(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidToken(f"{name} is not a number")
    return float(value)
