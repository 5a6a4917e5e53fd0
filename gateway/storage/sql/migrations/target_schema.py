"""The schema that migrations lead to: the tables, and the indexes with options of a database.

For such an option SQLAlchemy loads the dialect of its database, 3 MB for PostgreSQL's. A worker
needs the tables only, and no dialect but its own.
"""

from typing import Any

from sqlalchemy import Column, Index

from gateway.storage.sql import users as users_package  # noqa: F401 - likewise
from gateway.storage.sql.schema import (
    admin_events,
    groups,
    mails,
    metadata,
    roles,
    users,
    webhook_deliveries,
)

Index(
    "uq_roles_of_realm",
    roles.c.realm_id,
    roles.c.name,
    unique=True,
    sqlite_where=roles.c.client.is_(None),
    postgresql_where=roles.c.client.is_(None),
)
Index(
    "uq_groups_at_top",
    groups.c.realm_id,
    groups.c.name,
    unique=True,
    sqlite_where=groups.c.parent.is_(None),
    postgresql_where=groups.c.parent.is_(None),
)
Index(
    None,
    *(admin_events.c[name] for name in ("realm_id", "resource_path", "time", "id")),
    postgresql_ops={"resource_path": "text_pattern_ops"},
)


def _index_of_values(*columns: Column[Any]) -> Index:
    """Return an index of the rows that have a value in the last of the columns."""
    has_value = columns[-1].is_not(None)
    return Index(None, *columns, sqlite_where=has_value, postgresql_where=has_value)


_index_of_values(*(mails.c[name] for name in ("realm_id", "kind", "attempts", "due_at")))
_index_of_values(*(webhook_deliveries.c[name] for name in ("realm_id", "attempts", "due_at")))
for _over in (mails.c.sent_at, mails.c.failed_at, webhook_deliveries.c.failed_at):
    _index_of_values(_over)

_without_key = users.c.username_key.is_(None)
Index(
    "ix_users_without_key",
    *(users.c[name] for name in ("realm_id", "id")),
    sqlite_where=_without_key,
    postgresql_where=_without_key,
)

target_metadata = metadata
