"""The realm's headers for browsers, on every response of the realm.

Values are sent as the realm gives them, an empty one is not sent; the content security policy
goes with pages. Spec: 2.2 `browser_security_headers`; Keycloak: 0.3, 14
"""

from typing import Final

from gateway.domain.limits.caches import cached
from gateway.domain.realm import SecurityHeaders
from gateway.http.replies import Headers

_ON_EVERY_RESPONSE: Final = {
    "referrerPolicy": b"referrer-policy",
    "strictTransportSecurity": b"strict-transport-security",
    "xContentTypeOptions": b"x-content-type-options",
    "xFrameOptions": b"x-frame-options",
    "xRobotsTag": b"x-robots-tag",
}
_ONLY_ON_PAGES: Final = {
    "contentSecurityPolicy": b"content-security-policy",
    "contentSecurityPolicyReportOnly": b"content-security-policy-report-only",
}


@cached(2 * 1024 * 1024)
def for_every_response(headers: SecurityHeaders) -> Headers:
    """Return the headers of every response, with or without a body."""
    return _chosen(headers, _ON_EVERY_RESPONSE)


@cached(2 * 1024 * 1024)
def only_on_pages(headers: SecurityHeaders) -> Headers:
    """Return what a response that a browser shows has besides."""
    return _chosen(headers, _ONLY_ON_PAGES)


def _chosen(headers: SecurityHeaders, names: dict[str, bytes]) -> Headers:
    return tuple(
        (name, value.encode("latin-1"))
        for key, name in names.items()
        if (value := headers.value(key))
    )
