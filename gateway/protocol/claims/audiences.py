"""The shape of `aud`: a string for one audience, an array for several. Spec: RFC 7519 §4.1.3."""

from collections.abc import Mapping
from typing import Any


def audiences_of(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the audiences of a token in either shape; what is no text is none."""
    found = claims.get("aud")
    several = found if isinstance(found, list) else [found]
    return tuple(audience for audience in several if isinstance(audience, str))
