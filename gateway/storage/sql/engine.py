"""Connections to either database, with limits of time and number."""

from gateway.storage.sql import sqlite
from gateway.storage.sql.address import DatabaseAddress, SqliteFile
from gateway.storage.sql.limits import Engines, Limits


def create_engines(address: DatabaseAddress, limits: Limits | None = None) -> Engines:
    """Make engines that connect when first used."""
    limits = limits or Limits()
    if isinstance(address, SqliteFile):
        return sqlite.create_engines(address, limits)
    from gateway.storage.sql import postgresql  # noqa: PLC0415 - its driver takes 3.5 MB and 50 ms

    return postgresql.create_engines(address, limits)
