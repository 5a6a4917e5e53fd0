"""Costs of password hashes that are in use, by realm."""

import json

import sqlalchemy as sa
from alembic import op

from gateway.domain.limits.password_hashing import hash_cost_of

revision = "0020"
down_revision = "0019"

_STORED = sa.text(
    "SELECT DISTINCT realm_id, credential_data FROM credentials WHERE type = 'password'"
)


def upgrade() -> None:
    """Add the table, with the costs of the passwords that are stored."""
    costs = op.create_table(
        "password_costs",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("realm_id", "algorithm")),
        sa.Column("parameters", sa.Text, nullable=False, comment="JSON: those that cost time"),
        sa.Column("iterations", sa.Integer, nullable=False, comment="rounded up to two digits"),
        sa.PrimaryKeyConstraint(
            *("realm_id", "algorithm", "parameters", "iterations"), name="pk_password_costs"
        ),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name="fk_password_costs_realm_id", ondelete="CASCADE"
        ),
    )
    stored = op.get_bind().execute(_STORED)
    found = {(realm_id, hash_cost_of(made)) for realm_id, made in stored}
    rows = [
        {
            "realm_id": realm_id,
            "algorithm": cost.kind[0],
            "parameters": json.dumps(cost.kind[1]),
            "iterations": cost.iterations,
        }
        for realm_id, cost in found
        if cost is not None
    ]
    if rows:
        op.bulk_insert(costs, rows)
