"""Signing keys in SQL."""

from gateway.storage.sql.keys.repository import SqlKeys, read_key_row

__all__ = [
    "SqlKeys",
    "read_key_row",
]
