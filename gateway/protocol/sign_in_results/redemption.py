"""A sign-in in a browser whose tokens a client asks for later, by a code.

Session, user and consent must still hold. Keycloak: 1.4 (rows 3, 7, 12), 1.8
"""

from dataclasses import dataclass, replace
from datetime import datetime

from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.ports.directory import Directory, UserEntry
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, still_granted
from gateway.protocol.session_tokens import require_offline_role
from gateway.protocol.sessions import Joined, Participation, Sessions, is_part_over
from gateway.protocol.sign_in_results.consents import Consents


@dataclass(frozen=True, slots=True)
class PastSignIn:
    """What the stores have of a sign-in."""

    session: UserSession
    part: ClientSession
    user: UserEntry


class SignInRedemption:
    """Finds past sign-ins, and what their tokens are issued for."""

    def __init__(self, directory: Directory, sessions: Sessions, consents: Consents) -> None:
        self._directory = directory
        self._sessions = sessions
        self._consents = consents

    async def find(
        self, request: ProtocolRequest, session: UserSession, client: str, user_id: str
    ) -> PastSignIn:
        """Return the sign-in to the client with this internal id.

        The user must still be in the session, and enabled. Raises OAuthError, StoreUnavailable.
        """
        part = session.clients.get(client)
        if part is None or session.user_id != user_id:
            raise _refused("User session not found", EventError.USER_SESSION_NOT_FOUND)
        user = await self._directory.user(request.realm.realm.id, user_id)
        if user is None:
            raise _refused("User not found", EventError.USER_NOT_FOUND)
        request.event.user_id = user.user.id
        if not user.user.enabled:
            raise _refused("User disabled", EventError.USER_DISABLED)
        return PastSignIn(session, part, user)

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
            require_offline_role(found.user)
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


def require_active(request: ProtocolRequest, client: Client, found: PastSignIn) -> None:
    """Raise OAuthError where the session has ended, or the client's part in it."""
    if is_part_over(request.realm.realm, found.session, client, request.now):
        raise _refused("Session not active", EventError.USER_SESSION_NOT_FOUND)


def is_before_revocation(
    request: ProtocolRequest, client: Client, found: PastSignIn, issued_at: datetime
) -> bool:
    """Tell whether a code is older than a notBefore: its tokens would be younger than that."""
    realm, user = request.realm.realm, found.user.user
    not_before = max(realm.not_before, client.not_before, user.not_before)
    return int(issued_at.timestamp()) < not_before


def _refused(text: str, event_error: str) -> OAuthError:
    return refused("invalid_grant", text, event_error)
