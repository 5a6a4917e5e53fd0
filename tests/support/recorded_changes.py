"""What the database has of administrators' changes to a realm, read beside the gateway."""

import sqlite3
from contextlib import closing

from tests.support.administration import Administration

_QUESTION = (
    "SELECT operation_type, resource_type, resource_path, representation FROM admin_events"
    " JOIN realms ON realms.id = admin_events.realm_id WHERE realms.name = ?"
    " ORDER BY admin_events.time, admin_events.rowid"
)


def recorded_changes(
    administration: Administration, realm: str
) -> list[tuple[str, str, str | None, str | None]]:
    """Return operation, resource, path and representation of each, the oldest first."""
    file = administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(_QUESTION, (realm,)).fetchall()
