"""INSERT with ON CONFLICT, which both databases write alike and SQLAlchemy keeps by dialect."""

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(table: Table, dialect: str) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT that can carry on_conflict_do_nothing and on_conflict_do_update."""
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
