"""Which administrative roles of users the tokens of each client may carry."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

_EVERYTHING = "*"


def upgrade() -> None:
    """Add a column; the clients of earlier versions keep carrying all roles."""
    op.add_column(
        "clients",
        sa.Column(
            "administrative_roles", sa.Text, comment="that tokens may carry: JSON list; * for all"
        ),
    )
    clients = sa.table("clients", sa.column("administrative_roles"))
    op.execute(clients.update().values(administrative_roles=_EVERYTHING))
