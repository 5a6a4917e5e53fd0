"""A log of changes that every worker reads, for messages about them that are lost."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a table."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "change_log",
        sa.Column("id", number, primary_key=True),
        sa.Column("topics", sa.Text, nullable=False, comment="what is to be invalidated"),
        sqlite_autoincrement=True,
    )
