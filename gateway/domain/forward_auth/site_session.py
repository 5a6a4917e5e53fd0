"""The session of a browser at a protected site, which lasts with a user session of the realm."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from gateway.domain.forward_auth.site import Site

HOST_COOKIE: Final = "__Host-realmgate-session"
"""The session cookie of a site with hosts of its own."""
DOMAIN_COOKIE: Final = "__Secure-realmgate-session"
"""The session cookie that the hosts below a domain share."""


@dataclass(frozen=True, slots=True)
class SiteSession:
    """What the value of the session cookie stands for.

    `site` is what it is valid for, see `cookie_scope`. `client` is a clientId, `session_id` is that
    of the realm's user session.
    """

    site: str
    realm_id: str
    client: str
    user_id: str
    session_id: str = field(repr=False)
    created_at: datetime


def cookie_name(site: Site) -> str:
    """Return the name of the site's session cookie."""
    return HOST_COOKIE if site.cookie_domain is None else DOMAIN_COOKIE


def cookie_scope(site: Site) -> str:
    """Return what a session is valid for: the site alone, or every site of a cookie domain."""
    return site.name if site.cookie_domain is None else f".{site.cookie_domain}"
