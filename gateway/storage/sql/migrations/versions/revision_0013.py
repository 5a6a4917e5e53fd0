"""Lines of queues, whose first rows are claimed, and what is removed from queues."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add indexes, and drop those that indexes of lines replace; no released version has them."""
    _add_index_of_values("mails", "realm_id", "kind", "attempts", "due_at")
    _add_index_of_values("webhook_deliveries", "realm_id", "attempts", "due_at")
    for table, column in (
        ("mails", "sent_at"),
        ("mails", "failed_at"),
        ("webhook_deliveries", "failed_at"),
    ):
        _add_index_of_values(table, column)
    op.create_index(
        "ix_logout_notices_realm_id_attempts_due_at",
        "logout_notices",
        ["realm_id", "attempts", "due_at"],
    )
    op.drop_index("ix_mails_realm_id_due_at_kind", "mails")
    for table in ("mails", "webhook_deliveries", "logout_notices"):
        op.drop_index(f"ix_{table}_due_at", table)


def _add_index_of_values(table: str, *columns: str) -> None:
    has_value = sa.text(f"{columns[-1]} IS NOT NULL")
    op.create_index(
        f"ix_{table}_{'_'.join(columns)}",
        table,
        list(columns),
        sqlite_where=has_value,
        postgresql_where=has_value,
    )
