"""What expires, as JSON."""

from gateway.representations.expiry.expirations import (
    EXPIRATION,
    owner_text,
    render_expiration,
    renewal_text,
)
