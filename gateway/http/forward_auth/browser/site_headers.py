"""The headers of the realm for responses at protected sites."""

from dataclasses import replace
from typing import Final

from gateway.domain.realm import SecurityHeaders

_TRANSPORT_SECURITY: Final = "strictTransportSecurity"


def for_sites(headers: SecurityHeaders) -> SecurityHeaders:
    """Return the headers without the one that decides about all of the site's own host."""
    kept = tuple(pair for pair in headers.values if pair[0] != _TRANSPORT_SECURITY)
    return replace(headers, values=kept)
