"""The table of registered certificate authorities, those of a realm and those of its clients."""

from sqlalchemy import Column, ForeignKey, ForeignKeyConstraint, Index, Table, Text

from gateway.storage.sql.column_types import Name
from gateway.storage.sql.schema import metadata

authorities = Table(
    "authorities",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="client:sha256, or :sha256 for the realm"),
    Column("client", Name, comment="internal id; null for an authority of the realm"),
    Column("sha256", Name, nullable=False, comment="of the certificate, in hexadecimal"),
    Column("kind", Name, nullable=False, comment="anchor or intermediate"),
    Column("certificate", Text, nullable=False, comment="DER in base64"),
    ForeignKeyConstraint(
        ["realm_id", "client"], ["clients.realm_id", "clients.id"], ondelete="CASCADE"
    ),
    Index(None, "realm_id", "client"),
)
