"""When a gateway added each user and set each credential.

`created_at` may come from a file, so it does not tell a user from an earlier one with the same id.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

_COLUMNS = (("users", "added_at"), ("credentials", "set_at"))


def upgrade() -> None:
    """Add two columns; rows of earlier versions keep their time of creation.

    Both may be null: gateways of the earlier version add rows while the cluster is updated.
    """
    for name, column in _COLUMNS:
        comment = "by the clock of the gateway; created_at may be imported"
        op.add_column(name, sa.Column(column, sa.BigInteger, comment=comment))
        table = sa.table(name, sa.column("created_at"), sa.column(column))
        op.execute(table.update().values({column: table.c.created_at}))
