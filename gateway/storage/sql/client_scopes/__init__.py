"""Client scopes in SQL."""

from gateway.storage.sql.client_scopes.repository import SqlClientScopes
