"""The first schema: realms, clients, users, roles, signing keys and revoked tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "realms",
        _text("id"),
        _text("name"),
        sa.Column("enabled", sa.Boolean, nullable=False),
        _text("document"),
        _optional("smtp_password", comment="sealed"),
        sa.PrimaryKeyConstraint("id", name="pk_realms"),
        sa.UniqueConstraint("name", name="uq_realms_name"),
    )
    _table(
        "clients",
        ("id",),
        _text("client_id"),
        _text("document"),
        _optional("secret", comment="sealed"),
        sa.UniqueConstraint("realm_id", "client_id", name="uq_clients_realm_id_client_id"),
    )
    _create_users()
    _create_roles()
    _create_keys_and_revocations()


def _create_users() -> None:
    _table(
        "users",
        ("id",),
        _text("username"),
        sa.Column("enabled", sa.Boolean, nullable=False),
        _instant("created_at"),
        _optional("email"),
        sa.Column("email_verified", sa.Boolean, nullable=False),
        _optional("first_name"),
        _optional("last_name"),
        _optional("service_account_client"),
        _text("document"),
        sa.UniqueConstraint("realm_id", "username", name="uq_users_realm_id_username"),
        sa.UniqueConstraint(
            "realm_id", "service_account_client", name="uq_users_realm_id_service_account_client"
        ),
        _reference("users", "service_account_client", "clients"),
    )
    op.create_index("ix_users_realm_id_email", "users", ["realm_id", "email"])
    _table(
        "credentials",
        ("id",),
        _text("user_id"),
        _text("type"),
        _instant("created_at"),
        _text("credential_data"),
        _text("secret_data", comment="sealed"),
        sa.Column("priority", sa.Integer, nullable=False),
        _reference("credentials", "user_id", "users"),
    )
    op.create_index("ix_credentials_realm_id_user_id", "credentials", ["realm_id", "user_id"])


def _create_roles() -> None:
    _table(
        "roles",
        ("id",),
        _text("name"),
        _optional("description"),
        _optional("client", comment="internal id; null for a realm role"),
        _reference("roles", "client", "clients"),
    )
    op.create_index(
        "uq_roles_of_realm",
        "roles",
        ["realm_id", "name"],
        unique=True,
        sqlite_where=sa.text("client IS NULL"),
        postgresql_where=sa.text("client IS NULL"),
    )
    op.create_index("uq_roles_of_client", "roles", ["realm_id", "client", "name"], unique=True)
    _table(
        "role_composites",
        ("role_id", "composite_id"),
        _reference("role_composites", "role_id", "roles"),
        _reference("role_composites", "composite_id", "roles"),
    )
    op.create_index(
        "ix_role_composites_realm_id_composite_id", "role_composites", ["realm_id", "composite_id"]
    )
    _table(
        "user_roles",
        ("user_id", "role_id"),
        _reference("user_roles", "user_id", "users"),
        _reference("user_roles", "role_id", "roles"),
    )
    op.create_index("ix_user_roles_realm_id_role_id", "user_roles", ["realm_id", "role_id"])


def _create_keys_and_revocations() -> None:
    _table(
        "realm_keys",
        ("id",),
        _text("kid"),
        _text("algorithm"),
        _text("status"),
        _instant("created_at"),
        _instant("active_from"),
        sa.Column("retire_at", sa.BigInteger),
        _text("private_key", comment="sealed"),
        _optional("certificate"),
        sa.UniqueConstraint("realm_id", "kid", name="uq_realm_keys_realm_id_kid"),
    )
    _table("revocations", ("token_id",), _instant("expires_at"))
    op.create_index("ix_revocations_expires_at", "revocations", ["expires_at"])


def _table(name: str, key: tuple[str, ...], *parts: sa.Column[object] | sa.Constraint) -> None:
    """Make a table of things that belong to a realm, its primary key begun by the realm."""
    op.create_table(
        name,
        *(_text(column) for column in ("realm_id", *key)),
        *parts,
        sa.PrimaryKeyConstraint("realm_id", *key, name=f"pk_{name}"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name=f"fk_{name}_realm_id", ondelete="CASCADE"
        ),
    )


def _text(name: str, comment: str | None = None) -> sa.Column[object]:
    return sa.Column(name, sa.Text, nullable=False, comment=comment)


def _optional(name: str, comment: str | None = None) -> sa.Column[object]:
    return sa.Column(name, sa.Text, comment=comment)


def _instant(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _reference(table: str, column: str, referred: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["realm_id", column],
        [f"{referred}.realm_id", f"{referred}.id"],
        name=f"fk_{table}_realm_id_{column}",
        ondelete="CASCADE",
    )
