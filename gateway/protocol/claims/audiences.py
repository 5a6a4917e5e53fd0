"""The shape of `aud`: a string for one audience, an array for several. Spec: RFC 7519 §4.1.3."""

from collections.abc import Iterable
from typing import Any


def audiences_of(claims: dict[str, Any]) -> tuple[str, ...]:
    """Return the audiences of a token in either shape; what is no text is none."""
    found = claims.get("aud")
    several = found if isinstance(found, list) else [found]
    return tuple(audience for audience in several if isinstance(audience, str))


def add_audiences(claims: dict[str, Any], audiences: Iterable[str]) -> None:
    """Add audiences, each once, and choose the shape."""
    before = audiences_of(claims) if "aud" in claims else ()
    together = list(dict.fromkeys((*before, *audiences)))
    if together:
        claims["aud"] = together[0] if len(together) == 1 else together
