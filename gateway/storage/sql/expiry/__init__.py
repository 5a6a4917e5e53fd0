"""What expires, on SQL."""

from gateway.storage.sql.expiry.inventory import SqlCertificateInventory
from gateway.storage.sql.expiry.notices import SqlExpiryNotices
from gateway.storage.sql.expiry.seen_certificates import SqlSeenCertificates
