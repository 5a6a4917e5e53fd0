"""Realms in SQL."""

from gateway.storage.sql.realms.repository import SqlRealms, read_realm_row
