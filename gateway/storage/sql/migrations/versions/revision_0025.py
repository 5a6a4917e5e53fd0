"""Keys by which look-alike names and registered security keys are found.

Two users whose names have one key keep their names: the older one has the key, the other one none.
The same for a security key that two users have registered. `realmgate start` reports them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from gateway.domain.name_keys import name_key
from gateway.domain.web_authn import PASSKEY, SECURITY_KEY, key_digest

revision = "0025"
down_revision = "0018"

_BATCH = 1000
_USERS = sa.table(
    "users",
    *map(sa.column, ("realm_id", "id", "username", "email", "created_at")),
    *map(sa.column, ("username_key", "email_key")),
)
_CREDENTIALS = sa.table(
    "credentials",
    *map(sa.column, ("realm_id", "id", "type", "created_at", "credential_data", "key_id")),
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
    for table, column in (("users", "username_key"), ("credentials", "key_id")):
        _clear_repeated(connection, table, column)
        columns = ["realm_id", column]
        op.create_index(f"uq_{table}_realm_id_{column}", table, columns, unique=True)
    op.create_index("ix_users_realm_id_email_key", "users", ["realm_id", "email_key"])


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


def _clear_repeated(connection: sa.Connection, table: str, column: str) -> None:
    """Leave a key that several rows have to the oldest of them."""
    columns = ("realm_id", "id", "created_at", column)
    this, other = (
        sa.table(table, *map(sa.column, columns)).alias(name) for name in ("this", "other")
    )
    plain = sa.table(table, *map(sa.column, columns))
    is_older = sa.tuple_(other.c.created_at, other.c.id) < sa.tuple_(this.c.created_at, this.c.id)
    repeated = (
        sa.select(this.c.realm_id, this.c.id)
        .join(
            other, sa.and_(other.c.realm_id == this.c.realm_id, other.c[column] == this.c[column])
        )
        .where(is_older)
        .distinct()
    )
    found = connection.execute(repeated).all()
    if found:
        cleared = _update(plain).values({column: None})
        connection.execute(cleared, [{"of": row.realm_id, "row": row.id} for row in found])


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
