"""Notices to clients that sessions of theirs have ended."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "logout_notices",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("realm_id", "session_id")),
        sa.Column("client", sa.Text, nullable=False, comment="internal id"),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False, comment="when it is sent next"),
        sa.Column("attempts", sa.Integer, nullable=False, comment="begun so far"),
        sa.PrimaryKeyConstraint("realm_id", "session_id", "client", name="pk_logout_notices"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name="fk_logout_notices_realm_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["realm_id", "client"],
            ["clients.realm_id", "clients.id"],
            name="fk_logout_notices_realm_id_client",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_logout_notices_due_at", "logout_notices", ["due_at"])
    op.create_index("ix_logout_notices_realm_id_client", "logout_notices", ["realm_id", "client"])
