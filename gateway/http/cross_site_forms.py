"""Which page sent a form, by `Origin` and `Sec-Fetch-Site`: forms of other sites are refused.

Spec: Fetch §3.2 (`Origin`); attacks: D14
"""

from collections.abc import Collection
from typing import Final

from gateway.http.edge.facts import EdgeFacts

_OPAQUE_ORIGIN: Final = "null"
"""What browsers send from pages with `Referrer-Policy: no-referrer`, the gateway's own among them,
and from sandboxed frames of any site.
"""
_OTHER_SITE: Final = "cross-site"
_OWN_PAGE: Final = frozenset({"same-origin", "none"})
"""`Sec-Fetch-Site` of the gateway's own pages, and of a form that the user has sent again."""


def is_from_own_page(facts: EdgeFacts, own_origins: Collection[str]) -> bool:
    """Return whether a page of one of the origins sent the form, as far as the headers say."""
    origin = facts.headers.text(b"origin")
    site = facts.headers.text(b"sec-fetch-site")
    if origin not in {None, _OPAQUE_ORIGIN}:
        return origin in own_origins and site != _OTHER_SITE
    if site is not None:
        return site in _OWN_PAGE
    # Browsers send Sec-Fetch-Site to https alone: without TLS the headers do not distinguish a page
    # of the gateway from another one, and the secret in its form decides.
    return origin is None or not facts.secure
