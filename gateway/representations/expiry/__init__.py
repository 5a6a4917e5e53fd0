"""What expires, as JSON."""

from gateway.representations.expiry.expirations import EXPIRATION, render_expiration
