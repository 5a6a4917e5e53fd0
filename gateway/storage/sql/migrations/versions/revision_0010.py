"""Mails to users that wait to be sent, or were given up."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "mails",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("realm_id", "id", "user_id")),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False, comment="sealed; empty once it is over"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger, comment="when it is sent next; null once it is over"),
        sa.Column("attempts", sa.Integer, nullable=False, comment="begun so far"),
        sa.Column("sent_at", sa.BigInteger),
        sa.Column("failed_at", sa.BigInteger, comment="when it was given up"),
        sa.Column("reason", sa.Text, comment="why the last attempt failed"),
        sa.PrimaryKeyConstraint("realm_id", "id", name="pk_mails"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name="fk_mails_realm_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["realm_id", "user_id"],
            ["users.realm_id", "users.id"],
            name="fk_mails_realm_id_user_id",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_mails_due_at", "mails", ["due_at"])
    op.create_index("ix_mails_realm_id_user_id", "mails", ["realm_id", "user_id"])
