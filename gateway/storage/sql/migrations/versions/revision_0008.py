"""What browser sign-in keeps: consents, and how the user of an offline session signed in."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add a table and columns."""
    parts = "offline_client_sessions"
    op.add_column(parts, sa.Column("acr", sa.Text, comment="class of the sign-in"))
    op.add_column(parts, sa.Column("authenticated_at", sa.BigInteger))
    claims = "parameter of the authorization request"
    op.add_column(
        parts, sa.Column("claims", sa.Text, nullable=False, server_default="", comment=claims)
    )
    op.create_table(
        "user_consents",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("realm_id", "user_id")),
        sa.Column("client", sa.Text, nullable=False, comment="internal id"),
        sa.Column("scopes", sa.Text, nullable=False, comment="names of client scopes"),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("created_at", "updated_at")),
        sa.PrimaryKeyConstraint("realm_id", "user_id", "client", name="pk_user_consents"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name="fk_user_consents_realm_id", ondelete="CASCADE"
        ),
        *(
            _reference(column, table)
            for column, table in (("user_id", "users"), ("client", "clients"))
        ),
    )
    op.create_index("ix_user_consents_realm_id_client", "user_consents", ["realm_id", "client"])


def _reference(column: str, table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["realm_id", column],
        [f"{table}.realm_id", f"{table}.id"],
        name=f"fk_user_consents_realm_id_{column}",
        ondelete="CASCADE",
    )
