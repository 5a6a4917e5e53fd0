"""Keys by which look-alike names and registered security keys are found.

Two users whose names have one key keep their names: the older one has the key, the other one none.
The same for a security key that two users have registered. `realmgate start` reports them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from gateway.domain.unique_names import name_key
from gateway.domain.web_authn import PASSKEY, SECURITY_KEY, key_digest

revision = "0019"
down_revision = "0018"

_BATCH = 1000
_USERS = sa.table(
    "users",
    *map(sa.column, ("realm_id", "id", "username", "email", "created_at")),
    *map(sa.column, ("username_key", "email_key")),
)
_CREDENTIALS = sa.table(
    "credentials",
    *map(sa.column, ("realm_id", "id", "user_id", "type", "created_at")),
    *map(sa.column, ("credential_data", "key_id")),
)


def upgrade() -> None:
    """Add the columns and fill them."""
    comment = "see name_keys.py; null where another user has it"
    op.add_column("users", sa.Column("username_key", sa.Text, comment=comment))
    op.add_column("users", sa.Column("email_key", sa.Text, comment="see name_keys.py"))
    comment = "digest of the id of a security key or passkey"
    op.add_column("credentials", sa.Column("key_id", sa.Text, comment=comment))
    connection = op.get_bind()
    _fill_names(connection)
    _fill_keys(connection)
    _clear_keys(connection, _USERS, _USERS.c.username_key, _USERS.c.id)
    _clear_keys(connection, _CREDENTIALS, _CREDENTIALS.c.key_id, _CREDENTIALS.c.user_id)
    for table, *columns in (("users", "username_key"), ("credentials", "key_id", "type")):
        name = f"uq_{table}_realm_id_{columns[0]}"
        op.create_index(name, table, ["realm_id", *columns], unique=True)
    op.create_index("ix_users_realm_id_email_key", "users", ["realm_id", "email_key"])
    without_key = sa.text("username_key IS NULL")
    op.create_index(
        "ix_users_without_key",
        "users",
        ["realm_id", "id"],
        sqlite_where=without_key,
        postgresql_where=without_key,
    )


def _fill_names(connection: sa.Connection) -> None:
    filled = _update(_USERS).values(
        username_key=sa.bindparam("username_key"), email_key=sa.bindparam("email_key")
    )
    for rows in _batches(connection, sa.select(_USERS), _USERS):
        keys = [
            {
                "of": row.realm_id,
                "row": row.id,
                "username_key": name_key(row.username),
                "email_key": name_key(row.email) if row.email else None,
            }
            for row in rows
        ]
        connection.execute(filled, keys)


def _fill_keys(connection: sa.Connection) -> None:
    filled = _update(_CREDENTIALS).values(key_id=sa.bindparam("key"))
    kinds = _CREDENTIALS.c.type.in_((SECURITY_KEY, PASSKEY))
    for rows in _batches(connection, sa.select(_CREDENTIALS).where(kinds), _CREDENTIALS):
        keys = [
            {"of": row.realm_id, "row": row.id, "key": key_digest(row.type, row.credential_data)}
            for row in rows
        ]
        connection.execute(filled, keys)


def _clear_keys(
    connection: sa.Connection,
    table: sa.TableClause,
    key: sa.ColumnClause[Any],
    owner: sa.ColumnClause[Any],
) -> None:
    """Keep a key that several rows have in the oldest row alone."""
    keys = sa.select(table.c.realm_id, key).where(key.is_not(None))
    repeated = keys.group_by(table.c.realm_id, key).having(sa.func.count() > 1)
    kind = table.c.type if "type" in table.c else owner
    columns = (table.c.realm_id, table.c.id, key, owner.label("owner"), kind.label("kind"))
    rows = sa.select(*columns).where(sa.tuple_(table.c.realm_id, key).in_(repeated))
    owners: dict[tuple[str, str], str] = {}
    kept: set[tuple[str, str, str]] = set()
    cleared = []
    for row in connection.execute(rows.order_by(table.c.created_at, table.c.id)).all():
        place = row.realm_id, getattr(row, key.name)
        if owners.setdefault(place, row.owner) != row.owner or (*place, row.kind) in kept:
            cleared.append({"of": row.realm_id, "row": row.id})
        else:
            kept.add((*place, row.kind))
    if cleared:
        connection.execute(_update(table).values({key.name: None}), cleared)


def _update(table: sa.TableClause) -> sa.Update:
    return sa.update(table).where(
        table.c.realm_id == sa.bindparam("of"), table.c.id == sa.bindparam("row")
    )


def _batches(
    connection: sa.Connection, rows: sa.Select[Any], table: sa.TableClause
) -> Iterator[Sequence[Any]]:
    key = sa.tuple_(table.c.realm_id, table.c.id)
    last = ("", "")
    while True:
        page = rows.where(key > last).order_by(table.c.realm_id, table.c.id)
        found = connection.execute(page.limit(_BATCH)).all()
        if not found:
            return
        yield found
        last = (found[-1].realm_id, found[-1].id)
