"""The URL that a browser returns to: one of the same site, and of no other origin.

The URL is written anew from a host of the site and a path that every reader reads alike. What is
neither is refused, never repaired. attacks: C3
"""

from typing import Final

from gateway.domain.forward_auth import (
    AmbiguousTarget,
    OriginalRequest,
    Site,
    canonical_host,
    is_host_of,
    target_of,
)

LONGEST_RETURN_URL: Final = 2000
"""Characters: it is kept in a cookie while the user signs in."""
OWN_PATHS: Final = "/.realmgate/"
_SCHEME: Final = "https://"


class UnsafeReturnUrl(Exception):
    """The browser must not be sent there; `str()` is the reason, free of the URL's text."""


def return_url(site: Site, host: str, wanted: str) -> str:
    """Return the absolute URL; raises UnsafeReturnUrl.

    `wanted` is an https URL, or a path of `host`, which is one of the site.
    """
    text = wanted
    if len(text) > LONGEST_RETURN_URL:
        raise UnsafeReturnUrl(f"the URL is longer than {LONGEST_RETURN_URL} characters")
    try:
        if not text.startswith("/"):
            host, text = _split(site, text)
        path = target_of(OriginalRequest("GET", "https", host, text)).path
    except AmbiguousTarget as error:
        raise UnsafeReturnUrl(str(error)) from None
    if f"{path}/".startswith(OWN_PATHS):
        raise UnsafeReturnUrl("the URL is one of the gateway")
    return f"{_SCHEME}{host}{text}"


def _split(site: Site, url: str) -> tuple[str, str]:
    """Return host and request target of an absolute URL of the site."""
    if not url.startswith(_SCHEME):
        raise UnsafeReturnUrl("the URL does not begin with https://")
    authority, slash, rest = url.removeprefix(_SCHEME).partition("/")
    host = canonical_host(authority)
    if not is_host_of(site.hosts, host):
        raise UnsafeReturnUrl("the host is not one of the site")
    return host, f"{slash}{rest}" or "/"
