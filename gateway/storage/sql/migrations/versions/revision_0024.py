"""Serial number, names, first sighting and last token of certificates that were presented."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add columns that are null until a certificate is seen again."""
    for column in (
        sa.Column("serial", sa.Text, comment="hexadecimal"),
        sa.Column("alternative_names", sa.Text, comment="JSON: names by kind"),
        sa.Column("first_seen_at", sa.BigInteger),
        sa.Column("last_token_at", sa.BigInteger, comment="beginning of the hour"),
    ):
        op.add_column("seen_certificates", column)
