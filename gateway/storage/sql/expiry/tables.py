"""The tables of certificates that were presented, and of what mails have reported."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from gateway.storage.sql.column_types import Instant, Name
from gateway.storage.sql.schema import metadata

seen_certificates = Table(
    "seen_certificates",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="x5t#S256"),
    Column("names", Name, nullable=False, comment="digest of issuer and subject"),
    Column("subject", Text, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("begins_at", Instant, nullable=False),
    Column("watched_from", Instant, nullable=False, comment="the last third of its lifetime"),
    Column("expires_at", Instant, nullable=False),
    Column("last_seen_at", Instant, nullable=False, comment="beginning of the day"),
    Column("client", Text, comment="public name of the client that used it last"),
    Column("user_id", Text, comment="of the user that used it last"),
    Index(None, "realm_id", "names", "expires_at"),
    Index(None, "realm_id", "last_seen_at"),
    Index(None, "expires_at"),
)

expiry_notices = Table(
    "expiry_notices",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="of what expires"),
    Column("days", Integer, primary_key=True, comment="ahead of its end"),
    Column("expires_at", Instant, nullable=False),
    Column("noticed_at", Instant, nullable=False, comment="when the mail was queued"),
    Index(None, "realm_id", "noticed_at"),
    Index(None, "expires_at"),
)
