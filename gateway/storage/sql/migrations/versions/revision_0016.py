"""Deny lists of certificates."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "denied_certificates",
        sa.Column("realm_id", sa.Text, nullable=False),
        sa.Column(
            "id", sa.Text, nullable=False, comment="thumbprint, or digest of issuer and serial"
        ),
        sa.Column("issuer", sa.Text, comment="null for a thumbprint"),
        sa.Column("serial", sa.Text, comment="hexadecimal; null for a thumbprint"),
        sa.Column("reason", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("realm_id", "id", name="pk_denied_certificates"),
        sa.ForeignKeyConstraint(
            ["realm_id"],
            ["realms.id"],
            name="fk_denied_certificates_realm_id",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_denied_certificates_expires_at", "denied_certificates", ["expires_at"])
