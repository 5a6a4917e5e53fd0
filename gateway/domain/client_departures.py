"""What ends with a session or a consent: notices to clients, a client's part in sessions.

Spec: OpenID Connect Back-Channel Logout §2.5; Keycloak: 17.5 applications
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gateway.domain.clients import Client
from gateway.domain.deliveries import logout_notices
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Stores
from gateway.domain.sessions import UserSession
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class WithdrawnConsent:
    """Whether there was a consent, and how many offline sessions the client has left."""

    consent: bool
    offline_sessions: int


async def withdraw_consent(stores: Stores, user: User, client: Client) -> WithdrawnConsent:
    """Remove the user's consent to the client, and the client from the offline sessions."""
    realm_id = user.realm_id
    sessions = await stores.offline_sessions.of_user(realm_id, user.id)
    taken = [session for session in sessions if client.id in session.clients]
    removed = await stores.consents.remove_consent(realm_id, user.id, client.id)
    for session in taken:
        await stores.offline_sessions.leave(realm_id, session.id, client.id)
    return WithdrawnConsent(removed, len(taken))


async def detach_from_sessions(online: OnlineSessionStore, user: User, client: Client) -> None:
    """Take the client out of the user's online sessions: its tokens are at an end."""
    for session in await online.of_user(user.realm_id, user.id):
        await online.detach(user.realm_id, session.id, client.id)


async def queue_logout_notices(
    stores: Stores, sessions: Iterable[UserSession], now: datetime
) -> tuple[Client, ...]:
    """Store the notices of sessions before they end; return their clients that exist."""
    ending = tuple(sessions)
    taking_part = dict.fromkeys(
        (session.realm_id, client) for session in ending for client in session.clients
    )
    found = [await stores.clients.find_by_id(*place) for place in taking_part]
    clients = {client.id: client for client in found if client is not None}
    await stores.logout_notices.add_notices(logout_notices(ending, clients, now))
    return tuple(clients.values())
