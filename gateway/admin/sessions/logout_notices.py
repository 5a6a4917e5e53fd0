"""Stores the notices for the clients of sessions, in the transaction that ends them."""

from collections.abc import Iterable
from datetime import datetime

from gateway.domain.clients import Client
from gateway.domain.logout_notices import logout_notices
from gateway.domain.ports.storage import Stores
from gateway.domain.sessions import UserSession


async def queue_logout_notices(
    stores: Stores, sessions: Iterable[UserSession], now: datetime
) -> tuple[Client, ...]:
    """Store the notices of sessions that end; return their clients, as far as they exist.

    Call it before the sessions end: a gateway that is killed in between has lost nothing.
    """
    ending = tuple(sessions)
    taking_part = dict.fromkeys(
        (session.realm_id, client) for session in ending for client in session.clients
    )
    found = [await stores.clients.find_by_id(*place) for place in taking_part]
    clients = {client.id: client for client in found if client is not None}
    await stores.logout_notices.add(logout_notices(ending, clients, now))
    return tuple(clients.values())
