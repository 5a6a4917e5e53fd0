"""The session cookies of protected sites in a Cookie header. Spec: RFC 6265 §5.4."""

from typing import Final

from gateway.domain.forward_auth.site_session import DOMAIN_COOKIE, HOST_COOKIE

_NAMES: Final = frozenset({HOST_COOKIE, DOMAIN_COOKIE})
_MARK: Final = "realmgate-session="


def session_cookies(header: str | None) -> tuple[tuple[str, str], ...]:
    """Return names and values, the same name as often as it was sent."""
    if header is None or _MARK not in header:
        return ()
    pairs = (item.strip(" \t").partition("=") for item in header.split(";"))
    return tuple((name, value) for name, _, value in pairs if name in _NAMES)
