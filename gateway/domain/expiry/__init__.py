"""What expires: certificates, revocation lists and keys, and who renews them."""

from gateway.domain.expiry.expirations import (
    LONGEST_WINDOW,
    PART_OF_LIFETIME,
    WINDOWS,
    Expiration,
    ExpiryKind,
    ExpirySummary,
    StoredCertificate,
    summarize,
    watched_from,
)
from gateway.domain.expiry.renewal import Owner, OwnerKind, Renewal, RenewalKind
from gateway.domain.expiry.seen_certificates import (
    KEPT_AFTER_EXPIRY,
    LONGEST_NAME,
    MOST_SEEN,
    SeenCertificate,
    Sighting,
    name_digest,
)
