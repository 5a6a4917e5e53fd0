"""What the admin API keeps: client scopes, role scope mappings, key providers, events, labels.

Events are found by each of their filters, the newest first.
"""

from collections.abc import Mapping

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_EMPTY = "{}"


def upgrade() -> None:
    """Add columns and tables."""
    _add_columns()
    _table(
        "client_scopes",
        ("id",),
        _text("name"),
        sa.Column("realm_default", sa.Text, comment="default or optional for new clients, or null"),
        _text("document"),
        sa.UniqueConstraint("realm_id", "name", name="uq_client_scopes_realm_id_name"),
    )
    _links("client_scope_roles", ("client_scope", "client_scopes"))
    _links("client_roles_in_scope", ("client", "clients"), {"client": "internal id"})
    _table("realm_documents", ("kind", "name"), _text("document"))
    _table(
        "user_events",
        ("id",),
        _instant("time"),
        _text("type"),
        sa.Column("client_id", sa.Text, comment="public name, as it was sent"),
        *map(_optional, ("user_id", "session_id", "ip_address", "error")),
        _text("details"),
    )
    _find_by("user_events", "type", "client_id", "user_id", "ip_address")
    _table(
        "admin_events",
        ("id",),
        _instant("time"),
        *map(_text, ("operation_type", "resource_type")),
        *map(_optional, ("resource_path", "auth_realm_id")),
        sa.Column("auth_client", sa.Text, comment="internal id"),
        *map(_optional, ("auth_user_id", "ip_address", "representation", "error")),
        _text("details"),
    )
    _find_by("admin_events", "operation_type", "resource_type")
    # Paths are found by their beginnings, whatever order of texts the database has.
    op.create_index(
        "ix_admin_events_realm_id_resource_path_time_id",
        "admin_events",
        ["realm_id", "resource_path", "time", "id"],
        postgresql_ops={"resource_path": "text_pattern_ops"},
    )
    for column in ("auth_realm_id", "auth_client", "auth_user_id", "ip_address"):
        _index("admin_events", "realm_id", column, "time", "id")


def _add_columns() -> None:
    token = sa.Column("registration_token_id", sa.Text, comment="jti of the one that is believed")
    op.add_column("clients", token)
    op.add_column("credentials", sa.Column("user_label", sa.Text))
    op.add_column("roles", _document("attributes"))
    for name, comment in (("name", "of"), ("provider", "id of")):
        text = f"{comment} the key provider; null for the standard one"
        op.add_column("realm_keys", sa.Column(name, sa.Text, comment=text))
    priority = sa.Column("priority", sa.Integer, nullable=False, server_default="100")
    op.add_column("realm_keys", priority)
    op.add_column("realm_keys", _document("config", "of the key provider"))


def _find_by(table: str, *columns: str) -> None:
    _index(table, "realm_id", "time", "id")
    for column in columns:
        _index(table, "realm_id", column, "time", "id")


def _links(name: str, owner: tuple[str, str], comments: Mapping[str, str] | None = None) -> None:
    """Make a table of the roles in the scope of what owns them."""
    column, owners = owner
    _table(
        name,
        (column, "role_id"),
        _reference(name, column, owners),
        _reference(name, "role_id", "roles"),
        comments=comments,
    )
    _index(name, "realm_id", "role_id")


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


def _optional(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.Text)


def _document(name: str, comment: str | None = None) -> sa.Column[object]:
    return sa.Column(name, sa.Text, nullable=False, server_default=_EMPTY, comment=comment)


def _instant(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _reference(table: str, column: str, referred: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["realm_id", column],
        [f"{referred}.realm_id", f"{referred}.id"],
        name=f"fk_{table}_realm_id_{column}",
        ondelete="CASCADE",
    )
