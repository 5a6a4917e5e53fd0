"""What expires, as the JSON of the admin API and of commands; instants are RFC 3339."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.expiry import Expiration, RenewalKind
from gateway.representations.field_table import without_none

EXPIRATION: Final = "ExpirationRepresentation"
_RENEWALS: Final[Mapping[RenewalKind, str]] = {
    RenewalKind.COMMAND: "{}",
    RenewalKind.SOURCE: "{}",
    RenewalKind.ISSUER: "at its issuer, {}",
    RenewalKind.CLIENT_ATTRIBUTES: "attribute jwt.credential.certificate or jwks.string of the"
    " client",
}


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
            "owner": owner_text(expiration),
            "renewal": renewal_text(expiration),
            "lastSeen": None if seen_at is None else seen_at.date().isoformat(),
        }
    )


def owner_text(expiration: Expiration) -> str:
    """Return whose it is, such as `client device-1, user ada`."""
    named = (f"{owner.kind.value} {owner.name}".rstrip() for owner in expiration.owners)
    return ", ".join(named) or "not known"


def renewal_text(expiration: Expiration) -> str:
    """Return where to renew it: a command, files and URLs, or a place in words."""
    renewal = expiration.renewal
    return _RENEWALS[renewal.kind].format(renewal.value)
