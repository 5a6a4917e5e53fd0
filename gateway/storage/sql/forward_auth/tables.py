"""The tables of protected sites.

The key of a host does not begin with the realm, unlike all others: a host belongs to one site of
all realms.
"""

from sqlalchemy import Column, ForeignKey, ForeignKeyConstraint, Index, Table

from gateway.storage.sql.column_types import Document, Name
from gateway.storage.sql.schema import metadata

sites = Table(
    "sites",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("document", Document, nullable=False),
)

site_hosts = Table(
    "site_hosts",
    metadata,
    Column("host", Name, primary_key=True, comment="of one site of all realms"),
    Column("realm_id", Name, nullable=False),
    Column("site", Name, nullable=False, comment="its name"),
    ForeignKeyConstraint(
        ["realm_id", "site"], ["sites.realm_id", "sites.name"], ondelete="CASCADE"
    ),
    Index(None, "realm_id", "site"),
)
