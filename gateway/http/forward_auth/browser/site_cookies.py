"""The cookies of browsers at protected sites: pending sign-ins, and the session.

All are `Secure` and `HttpOnly`. `SameSite=Lax`, because the realm sends the browser back from
another site. Names with `__Host-` cannot be set by other hosts. Spec: RFC 6265bis §4.1.3
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.forward_auth import Site
from gateway.domain.forward_auth.site_session import cookie_name
from gateway.forward_auth.browser.pending_sign_ins import LIFESPAN, pending_id
from gateway.http.sign_in.cookies import read_cookies

_PENDING: Final = "__Host-realmgate-sign-in-"
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Lax"

Header = tuple[bytes, bytes]
Cookies = Mapping[str, tuple[str, ...]]


def pending_name(state: str) -> str:
    """Return the name of the cookie of the sign-in that a `state` belongs to."""
    return f"{_PENDING}{pending_id(state)}"


def pending_cookies(header: str | None) -> dict[str, str]:
    """Return the sealed sign-ins by the names of their cookies."""
    return {
        name: values[0]
        for name, values in read_cookies(header).items()
        if name.startswith(_PENDING)
    }


def session_values(header: str | None, site: Site) -> tuple[str, ...]:
    """Return the values of the site's session cookie."""
    return read_cookies(header).get(cookie_name(site), ())


def set_pending(name: str, sealed: str) -> Header:
    """Return the header that keeps a sign-in."""
    return _set(name, sealed, f"Max-Age={int(LIFESPAN.total_seconds())}; {_ATTRIBUTES}")


def remove_pending(name: str) -> Header:
    """Return the header that removes a sign-in."""
    return _set(name, "", f"Max-Age=0; {_ATTRIBUTES}")


def set_session(site: Site, value: str) -> Header:
    """Return the header that keeps a session as long as the browser runs."""
    return _set(cookie_name(site), value, _session_attributes(site))


def remove_session(site: Site) -> Header:
    """Return the header that removes the session."""
    return _set(cookie_name(site), "", f"Max-Age=0; {_session_attributes(site)}")


def _session_attributes(site: Site) -> str:
    domain = site.cookie_domain
    return _ATTRIBUTES if domain is None else f"Domain={domain}; {_ATTRIBUTES}"


def _set(name: str, value: str, attributes: str) -> Header:
    return b"set-cookie", f"{name}={value}; {attributes}".encode("ascii")
