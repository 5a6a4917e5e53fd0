"""Certificate authorities of realms and of their clients."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "authorities",
        sa.Column("realm_id", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False, comment="client:sha256, or :sha256 for the realm"),
        sa.Column("client", sa.Text, comment="internal id; null for an authority of the realm"),
        sa.Column("sha256", sa.Text, nullable=False, comment="of the certificate, in hexadecimal"),
        sa.Column("kind", sa.Text, nullable=False, comment="anchor or intermediate"),
        sa.Column("certificate", sa.Text, nullable=False, comment="DER in base64"),
        sa.PrimaryKeyConstraint("realm_id", "id", name="pk_authorities"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name="fk_authorities_realm_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["realm_id", "client"],
            ["clients.realm_id", "clients.id"],
            name="fk_authorities_realm_id_client",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_authorities_realm_id_client", "authorities", ["realm_id", "client"])
