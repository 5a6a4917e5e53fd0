"""Clients in SQL."""

from gateway.storage.sql.clients.repository import SqlClients, read_client_row
