"""Protected sites of realms, and the hosts of each."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add two tables."""
    op.create_table(
        "sites",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("realm_id", "name", "document")),
        sa.PrimaryKeyConstraint("realm_id", "name", name="pk_sites"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name="fk_sites_realm_id", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "site_hosts",
        sa.Column("host", sa.Text, nullable=False, comment="of one site of all realms"),
        sa.Column("realm_id", sa.Text, nullable=False),
        sa.Column("site", sa.Text, nullable=False, comment="its name"),
        sa.PrimaryKeyConstraint("host", name="pk_site_hosts"),
        sa.ForeignKeyConstraint(
            ["realm_id", "site"],
            ["sites.realm_id", "sites.name"],
            name="fk_site_hosts_realm_id_site",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_site_hosts_realm_id_site", "site_hosts", ["realm_id", "site"])
