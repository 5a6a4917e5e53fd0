"""Events that wait for the webhooks of realms, and the secrets that sign them."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add a column and a table."""
    op.add_column("realms", sa.Column("webhook_secret", sa.Text, comment="sealed"))
    op.create_table(
        "webhook_deliveries",
        sa.Column("realm_id", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False, comment="of the event"),
        sa.Column("body", sa.Text, nullable=False, comment="JSON"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger, comment="when it is sent next; null once it is over"),
        sa.Column("attempts", sa.Integer, nullable=False, comment="begun so far"),
        sa.Column("failed_at", sa.BigInteger, comment="when it was given up"),
        sa.Column("reason", sa.Text, comment="why the last attempt failed"),
        sa.PrimaryKeyConstraint("realm_id", "id", name="pk_webhook_deliveries"),
        sa.ForeignKeyConstraint(
            ["realm_id"],
            ["realms.id"],
            name="fk_webhook_deliveries_realm_id",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_webhook_deliveries_due_at", "webhook_deliveries", ["due_at"])
