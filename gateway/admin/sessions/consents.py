"""What ends with a consent: the client's offline tokens, and its part in the user's sessions.

Keycloak: 17.5
"""

from dataclasses import dataclass

from gateway.domain.clients import Client
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Stores
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
    removed = await stores.consents.remove(realm_id, user.id, client.id)
    for session in taken:
        await stores.offline_sessions.leave(realm_id, session.id, client.id)
    return WithdrawnConsent(removed, len(taken))


async def detach_from_sessions(online: OnlineSessionStore, user: User, client: Client) -> None:
    """Take the client out of the user's online sessions: its tokens are at an end."""
    for session in await online.of_user(user.realm_id, user.id):
        await online.detach(user.realm_id, session.id, client.id)
