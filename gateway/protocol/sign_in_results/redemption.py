"""A sign-in in a browser whose tokens a client asks for later, by a code.

Session, user and consent must still hold. Keycloak: 1.4 (rows 3, 7, 12), 1.8
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.authentication.validity import Cause, IssuedCredential, NoLongerValid, Validity
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.ports.directory import UserEntry
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, still_granted
from gateway.protocol.session_tokens import require_offline_access
from gateway.protocol.sessions import Joined, Participation, Sessions
from gateway.protocol.sign_in_results.consents import Consents


@dataclass(frozen=True, slots=True)
class PastSignIn:
    """What the stores have of a sign-in."""

    session: UserSession
    part: ClientSession
    user: UserEntry


class SignInRedemption:
    """Finds past sign-ins, and what their tokens are issued for."""

    def __init__(self, validity: Validity, sessions: Sessions, consents: Consents) -> None:
        self._validity = validity
        self._sessions = sessions
        self._consents = consents

    async def find(
        self,
        request: ProtocolRequest,
        issued: IssuedCredential,
        *,
        ended: OAuthError,
        revoked: OAuthError,
    ) -> PastSignIn:
        """Return the sign-in of a code.

        Raises `ended` where its session is over, `revoked` where the code is older than a
        notBefore, OAuthError for another cause, and StoreUnavailable.
        """
        try:
            current = await self._validity.require(request.realm, issued, request.now)
        except NoLongerValid as refusal:
            if refusal.cause in _CAUSES_OF_USERS:
                request.event.user_id = refusal.user_id
            if refusal.cause is Cause.NOT_BEFORE:
                raise revoked from refusal
            failure = _FAILURES.get(refusal.cause)
            raise (ended if failure is None else _refused(*failure)) from refusal
        request.event.user_id = current.user.user.id
        session = current.session
        if session is None or issued.client is None:
            raise ended
        return PastSignIn(session, session.clients[issued.client.client.id], current.user)

    async def scopes(
        self, request: ProtocolRequest, client: Client, user: UserEntry, scope: str
    ) -> GrantedScopes:
        """Return what is left of the granted scopes; the user's consent must cover it.

        Raises OAuthError and StoreUnavailable.
        """
        granted = still_granted(request.realm, client, scope.split(" "))
        if not await self._consents.holds(client, user, granted):
            text = "Client no longer has requested consent from user"
            raise refused("invalid_scope", text, EventError.NOT_ALLOWED)
        return granted

    async def join(
        self,
        request: ProtocolRequest,
        client: Client,
        found: PastSignIn,
        participation: Participation,
        *,
        offline: bool,
    ) -> Joined:
        """Return the session with the client's part as the sign-in decided it.

        Another tab may have signed in to the same client since, with another request. Raises
        OAuthError for an offline session that the user may not have, and StoreUnavailable.
        """
        if offline:
            require_offline_access(request, client, found.user)
            realm = request.realm.realm
            return await self._sessions.join_offline(
                realm, found.session, client, participation, request.now
            )
        part = replace(
            found.part,
            acr=participation.acr,
            authenticated_at=participation.authenticated_at,
            claims=participation.claims,
        )
        clients = {**found.session.clients, client.id: part}
        return Joined(replace(found.session, clients=clients), part)


_NOT_IN_SESSION: Final = ("User session not found", EventError.USER_SESSION_NOT_FOUND)
_NOT_ACTIVE: Final = ("Session not active", EventError.USER_SESSION_NOT_FOUND)
_FAILURES: Final[Mapping[Cause, tuple[str, str]]] = {
    Cause.OTHER_USER: _NOT_IN_SESSION,
    Cause.CLIENT_NOT_IN_SESSION: _NOT_IN_SESSION,
    Cause.CLIENT_SESSION_OVER: _NOT_ACTIVE,
    Cause.USER_REMOVED: ("User not found", EventError.USER_NOT_FOUND),
    Cause.USER_DISABLED: ("User disabled", EventError.USER_DISABLED),
    Cause.USER_LOCKED_OUT: ("Invalid user credentials", EventError.USER_TEMPORARILY_DISABLED),
}
"""Description and error of the event. Keycloak: 1.4, 1.8 (26.7.5)"""
_CAUSES_OF_USERS: Final = frozenset({Cause.USER_DISABLED, Cause.USER_LOCKED_OUT})


def _refused(text: str, event_error: str) -> OAuthError:
    return refused("invalid_grant", text, event_error)
