"""Realms as the text of their file."""

from gateway.admin.realm_files.export import stream_realm
from gateway.domain.ports.storage import Database


async def export_realm(database: Database, name: str, *, include_secrets: bool = False) -> bytes:
    """Return the whole text at once."""
    parts = stream_realm(database, name, include_secrets=include_secrets)
    return b"".join([part async for part in parts])
