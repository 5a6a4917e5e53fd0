"""The rows of the table that tell of clients."""

from gateway.admin.changes import Changes
from gateway.admin.client_administration import ClientAdministration
from gateway.admin.client_listing import ClientListing
from gateway.domain.clock import Clock
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.http.admin import clients
from gateway.http.admin.operations import Operation


def client_operations(
    database: Database, changes: Changes, clock: Clock, online_sessions: OnlineSessionStore
) -> tuple[Operation, ...]:
    """Return the rows."""
    administration = ClientAdministration(changes, clock, online_sessions)
    return (*clients.operations(clients.ClientsHandlers(ClientListing(database), administration)),)
