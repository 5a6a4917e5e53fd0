"""The secret by which a realm gets tokens for its mail server, sealed as the password is."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column."""
    op.add_column("realms", sa.Column("smtp_token_secret", sa.Text, comment="sealed"))
