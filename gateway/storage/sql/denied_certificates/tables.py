"""The table of deny lists."""

from sqlalchemy import Column, ForeignKey, Index, Table, Text

from gateway.storage.sql.column_types import Instant, Name
from gateway.storage.sql.schema import metadata

denied_certificates = Table(
    "denied_certificates",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="thumbprint, or digest of issuer and serial"),
    Column("issuer", Text, comment="null for a thumbprint"),
    Column("serial", Name, comment="hexadecimal; null for a thumbprint"),
    Column("reason", Name),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant),
    Index(None, "expires_at"),
)
