"""`uri`: an absolute address; `allowedSchemes` (http, https), `allowFragment`, `requireValidUrl`.

Keycloak: UriValidator. Spec: RFC 3986
"""

import re
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_SCHEMES: Final = ("http", "https")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LEGAL: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#[]@!$&'()*+,;=%"
)


def uri(configuration: Configuration) -> Check:
    """Require absolute addresses."""
    schemes = configuration.texts("allowedSchemes") or _SCHEMES
    allows_fragment = configuration.flag("allowFragment", default=True)
    needs_authority = configuration.flag("requireValidUrl", default=True)

    def check(text: str) -> Finding | None:
        reason = _malformed(text)
        if reason is not None:
            return Finding("error-invalid-uri", (text, reason))
        scheme, _, rest = text.partition(":")
        if scheme not in schemes:
            return Finding("error-invalid-uri-scheme", (text, scheme))
        fragment = text.partition("#")[2]
        if fragment and not allows_fragment:
            return Finding("error-invalid-uri-fragment", (text, fragment))
        if needs_authority and not rest.startswith("//"):
            return Finding("error-invalid-uri", (text, "no host"))
        return None

    return each(check)


def _malformed(text: str) -> str | None:
    illegal = next((sign for sign in text if sign.isascii() and sign not in _LEGAL), None)
    if illegal is not None:
        return f"Illegal character at index {text.index(illegal)}"
    if _ESCAPE.search(text):
        return "Malformed escape"
    scheme = _SCHEME.match(text)
    if scheme is None:
        return "URI is not absolute"
    rest = text[scheme.end() :]
    if not rest or re.match(r"//(?:[/?#]|$)", rest):
        return f"Expected authority at index {scheme.end()}"
    return None
