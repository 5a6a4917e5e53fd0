"""Signing keys in SQL."""

from gateway.storage.sql.keys.repository import SqlKeys, read_key_row
