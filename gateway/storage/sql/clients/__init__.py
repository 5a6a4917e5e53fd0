"""Clients in SQL."""

from gateway.storage.sql.clients.repository import EVERY_ROLE, SqlClients, read_client_row
from gateway.storage.sql.clients.search import is_always_listed
