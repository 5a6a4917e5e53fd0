"""Certificates that were presented, what mails have reported, and mails that go to no user."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add two tables, and let a mail have no user."""
    op.create_table(
        "seen_certificates",
        sa.Column("realm_id", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False, comment="x5t#S256"),
        sa.Column("names", sa.Text, nullable=False, comment="digest of issuer and subject"),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("subject", "issuer")),
        sa.Column("begins_at", sa.BigInteger, nullable=False),
        sa.Column(
            "watched_from", sa.BigInteger, nullable=False, comment="the last third of its lifetime"
        ),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("last_seen_at", sa.BigInteger, nullable=False, comment="beginning of the day"),
        sa.Column("client", sa.Text, comment="public name of the client that used it last"),
        sa.Column("user_id", sa.Text, comment="of the user that used it last"),
        *_of_realm("seen_certificates", "realm_id", "id"),
    )
    _add_indexes(
        "seen_certificates",
        ("realm_id", "names", "expires_at"),
        ("realm_id", "last_seen_at"),
        ("expires_at",),
    )
    op.create_table(
        "expiry_notices",
        sa.Column("realm_id", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False, comment="of what expires"),
        sa.Column("days", sa.Integer, nullable=False, comment="ahead of its end"),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("noticed_at", sa.BigInteger, nullable=False, comment="when the mail was queued"),
        *_of_realm("expiry_notices", "realm_id", "id", "days"),
    )
    _add_indexes("expiry_notices", ("realm_id", "noticed_at"), ("expires_at",))
    with op.batch_alter_table("mails") as mails:
        mails.alter_column("user_id", existing_type=sa.Text, nullable=True)


def _of_realm(table: str, *key: str) -> tuple[sa.Constraint, ...]:
    return (
        sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name=f"fk_{table}_realm_id", ondelete="CASCADE"
        ),
    )


def _add_indexes(table: str, *indexes: tuple[str, ...]) -> None:
    for columns in indexes:
        op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
