"""The schema that migrations lead to: the tables, and the indexes with options of a database.

For such an option SQLAlchemy loads the dialect of its database, 3 MB for PostgreSQL's. A worker
needs the tables only, and no dialect but its own.
"""

from sqlalchemy import Index

from gateway.storage.sql.schema import admin_events, groups, metadata, roles

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

target_metadata = metadata
