"""The cookies of a sign-in, by Keycloak's names, and how they are read and written.

A cookie is valid below the realm alone. Over TLS it is `Secure`, and `SameSite=None` where pages
of clients need it: for the response by form_post, and for frames. In clear, which a realm has to
permit, browsers would reject that, and it is `Lax`. Keycloak: 12.11; Spec: RFC 6265 §4
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from gateway.http.replies import Headers
from gateway.protocol.requests import ProtocolRequest

MOST_VALUES: Final = 4
"""Of one name: more are never looked at. Pages of other hosts can add cookies of the same name."""
_LONGEST_HEADER: Final = 16 * 1024
_VALUE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*", re.ASCII)
"""Spec: RFC 6265 §4.1.1, cookie-octet."""


class CookieName(StrEnum):
    """The names of all cookies."""

    AUTHENTICATION_SESSION = "AUTH_SESSION_ID"
    RESTART = "KC_RESTART"
    IDENTITY = "KEYCLOAK_IDENTITY"
    SESSION = "KEYCLOAK_SESSION"
    REMEMBER_ME = "KEYCLOAK_REMEMBER_ME"
    LOCALE = "KEYCLOAK_LOCALE"


_READABLE_BY_SCRIPTS: Final = frozenset({CookieName.SESSION})
"""The frame that watches a session compares it. Spec: OpenID Connect Session Management §3.2."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie to be set; `lifespan` None lasts as long as the browser runs."""

    name: CookieName
    value: str = field(repr=False)
    lifespan: timedelta | None = None


def expired(name: CookieName) -> Cookie:
    """Return the cookie that removes one."""
    return Cookie(name, "", timedelta())


def read_cookies(header: str | None) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each name in the order of the header; what is malformed is left out.

    A name may occur several times: the caller takes the first value that it can verify.
    """
    found: dict[str, tuple[str, ...]] = {}
    if header is None or len(header) > _LONGEST_HEADER:
        return found
    for pair in header.split(";"):
        name, equals, value = pair.strip().partition("=")
        value = value.removeprefix('"').removesuffix('"')
        if equals and _VALUE.fullmatch(value) and len(found.get(name, ())) < MOST_VALUES:
            found[name] = (*found.get(name, ()), value)
    return found


def cookie_headers(request: ProtocolRequest, cookies: Iterable[Cookie]) -> Headers:
    """Return a `Set-Cookie` header for each."""
    path = f"{urlsplit(request.issuer).path}/"
    return tuple(
        (b"set-cookie", _written(cookie, path, secure=request.secure).encode("ascii"))
        for cookie in cookies
    )


def _written(cookie: Cookie, path: str, *, secure: bool) -> str:
    parts = [f"{cookie.name}={cookie.value}", f"Path={path}"]
    if cookie.lifespan is not None:
        parts.append(f"Max-Age={cookie.lifespan // timedelta(seconds=1)}")
    if cookie.name not in _READABLE_BY_SCRIPTS:
        parts.append("HttpOnly")
    parts += ["Secure", "SameSite=None"] if secure else ["SameSite=Lax"]
    return "; ".join(parts)
