"""The mails of a realm that wait, which each further one counts."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add an index."""
    op.create_index("ix_mails_realm_id_due_at_kind", "mails", ["realm_id", "due_at", "kind"])
