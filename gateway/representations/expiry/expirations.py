"""What expires, as the JSON of the admin API and of commands; instants are RFC 3339."""

from typing import Any, Final

from gateway.domain.expiry import Expiration
from gateway.representations.field_table import without_none

EXPIRATION: Final = "ExpirationRepresentation"


def render_expiration(expiration: Expiration) -> dict[str, Any]:
    """Return the JSON object; without `realm` for what the settings name."""
    seen_at = expiration.last_seen_at
    return without_none(
        {
            "kind": expiration.kind.value,
            "id": expiration.id,
            "realm": expiration.realm,
            "subject": expiration.subject,
            "issuer": expiration.issuer,
            "notBefore": expiration.begins_at.isoformat(),
            "notAfter": expiration.expires_at.isoformat(),
            "owner": expiration.owner,
            "renewal": expiration.renewal,
            "lastSeen": None if seen_at is None else seen_at.date().isoformat(),
        }
    )
