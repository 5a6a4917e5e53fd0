"""Clients in SQL."""

from gateway.storage.sql.clients.repository import SqlClients, read_client_row

__all__ = [
    "SqlClients",
    "read_client_row",
]
