"""What Keycloak keeps of a group besides: its description, and whether new users join it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("groups", sa.Column("description", sa.Text))
    op.add_column(
        "groups", sa.Column("is_default", sa.Boolean, nullable=False, server_default=sa.false())
    )
