"""Groups, offline sessions, families of refresh tokens, and what users are searched by.

User names, addresses and names compare by code point on PostgreSQL too, as they do on SQLite:
only so does an index find a prefix and give the same order.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from gateway.storage.sql.column_types import Document
from gateway.storage.sql.user_search import index_terms

revision = "0002"
down_revision = "0001"

_BATCH = 1000

_Row = Mapping[str, Any]


def upgrade() -> None:
    """Make the tables and fill what users are searched by."""
    _search_users()
    _create_groups()
    _create_offline_sessions()
    _table(
        "refresh_families",
        ("family",),
        _text("session_id"),
        _text("token_id", comment="the token whose turn it is"),
        sa.Column("uses", sa.Integer, nullable=False, comment="of that token"),
        _text("successors", comment="the tokens given for it"),
        _instant("expires_at"),
        sa.Column("ended", sa.Boolean, nullable=False),
    )
    _index("refresh_families", "expires_at")
    _index("refresh_families", "realm_id", "session_id")


def _search_users() -> None:
    collation = None
    if op.get_context().dialect.name == "postgresql":
        collation = "C"
        for column in ("username", "email"):
            op.alter_column("users", column, type_=sa.Text(collation=collation))
    for column in ("first_name_lower", "last_name_lower"):
        text = sa.Text(collation=collation)
        op.add_column("users", sa.Column(column, text, comment="what is searched"))
    _table(
        "user_attributes",
        ("name", "value", "user_id"),
        _reference("user_attributes", "user_id", "users"),
        comments={
            "name": "what is searched, see attribute_index",
            "value": "what is searched, see attribute_index",
        },
    )
    _fill_search(op.get_bind())
    _index("users", "realm_id", "first_name_lower")
    _index("users", "realm_id", "last_name_lower")
    _index("user_attributes", "realm_id", "user_id")


def _fill_search(connection: sa.Connection) -> None:
    users = sa.table(
        "users",
        *map(sa.column, ("realm_id", "id", "first_name", "last_name")),
        sa.column("document", Document()),
        *map(sa.column, ("first_name_lower", "last_name_lower")),
    )
    attributes = sa.table(
        "user_attributes", *map(sa.column, ("realm_id", "name", "value", "user_id"))
    )
    filled = (
        sa.update(users)
        .where(users.c.realm_id == sa.bindparam("of"), users.c.id == sa.bindparam("user"))
        .values(
            first_name_lower=sa.bindparam("first", type_=sa.Text),
            last_name_lower=sa.bindparam("last", type_=sa.Text),
        )
    )
    for rows in _batches(connection, users):
        connection.execute(filled, [_names(row) for row in rows])
        found = [entry for row in rows for entry in _attributes(row)]
        if found:
            connection.execute(sa.insert(attributes), found)


def _batches(
    connection: sa.Connection, users: sa.TableClause
) -> Iterator[Sequence[Mapping[str, Any]]]:
    key = sa.tuple_(users.c.realm_id, users.c.id)
    last = ("", "")
    while True:
        page = sa.select(users).where(key > last).order_by(users.c.realm_id, users.c.id)
        rows = [dict(row) for row in connection.execute(page.limit(_BATCH)).mappings()]
        if not rows:
            return
        yield rows
        last = (rows[-1]["realm_id"], rows[-1]["id"])


def _names(row: _Row) -> dict[str, str | None]:
    first, last = row["first_name"], row["last_name"]
    return {
        "of": row["realm_id"],
        "user": row["id"],
        "first": first and first.lower(),
        "last": last and last.lower(),
    }


def _attributes(row: _Row) -> Iterator[dict[str, str]]:
    for name, value in index_terms(row["document"].get("attributes", {})):
        yield {"realm_id": row["realm_id"], "user_id": row["id"], "name": name, "value": value}


def _create_groups() -> None:
    _table(
        "groups",
        ("id",),
        _text("name"),
        sa.Column("parent", sa.Text, comment="null at the top"),
        _text("attributes"),
        _reference("groups", "parent", "groups"),
    )
    op.create_index(
        "uq_groups_at_top",
        "groups",
        ["realm_id", "name"],
        unique=True,
        sqlite_where=sa.text("parent IS NULL"),
        postgresql_where=sa.text("parent IS NULL"),
    )
    op.create_index("uq_groups_of_parent", "groups", ["realm_id", "parent", "name"], unique=True)
    for name, (own, owner), (other, referred) in (
        ("group_members", ("user_id", "users"), ("group_id", "groups")),
        ("group_roles", ("group_id", "groups"), ("role_id", "roles")),
    ):
        _table(name, (own, other), _reference(name, own, owner), _reference(name, other, referred))
        _index(name, "realm_id", other)


def _create_offline_sessions() -> None:
    _table(
        "offline_sessions",
        ("id",),
        *map(_text, ("user_id", "username", "ip_address")),
        *map(_instant, ("started_at", "refreshed_at", "expires_at")),
        sa.Column("remember_me", sa.Boolean, nullable=False),
        _text("notes"),
        _reference("offline_sessions", "user_id", "users"),
    )
    _index("offline_sessions", "expires_at")
    _index("offline_sessions", "realm_id", "user_id")
    _table(
        "offline_client_sessions",
        ("session_id", "client"),
        sa.Column(
            "session_started_at",
            sa.BigInteger,
            nullable=False,
            comment="the order of a client's list",
        ),
        *map(_instant, ("started_at", "refreshed_at")),
        _text("scope"),
        _reference("offline_client_sessions", "session_id", "offline_sessions"),
        _reference("offline_client_sessions", "client", "clients"),
        comments={"client": "internal id"},
    )
    op.create_index(
        "ix_offline_client_sessions_order",
        "offline_client_sessions",
        ["realm_id", "client", "session_started_at", "session_id"],
    )


def _table(
    name: str,
    key: tuple[str, ...],
    *parts: sa.Column[object] | sa.Constraint,
    comments: Mapping[str, str] | None = None,
) -> None:
    """Make a table of things that belong to a realm, its primary key begun by the realm."""
    op.create_table(
        name,
        *(_text(column, (comments or {}).get(column)) for column in ("realm_id", *key)),
        *parts,
        sa.PrimaryKeyConstraint("realm_id", *key, name=f"pk_{name}"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name=f"fk_{name}_realm_id", ondelete="CASCADE"
        ),
    )


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def _text(name: str, comment: str | None = None) -> sa.Column[object]:
    return sa.Column(name, sa.Text, nullable=False, comment=comment)


def _instant(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _reference(table: str, column: str, referred: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["realm_id", column],
        [f"{referred}.realm_id", f"{referred}.id"],
        name=f"fk_{table}_realm_id_{column}",
        ondelete="CASCADE",
    )
