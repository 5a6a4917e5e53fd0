"""The name of the header in which the proxy forwards the client certificate. Keycloak: 11.1."""

import re
from typing import Final

from gateway.http.edge.certificate_lookup import LOOKUPS

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_HYPHENS: Final = 4
"""The proxy drops each spelling with `_` instead of `-`: two for one hyphen, sixteen for four."""
_RESERVED: Final = frozenset(
    {
        "accept",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "if-match",
        "if-none-match",
        "te",
        "traceparent",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-port",
        "x-forwarded-proto",
        "x-realmgate-proxy-secret",
        "x-request-id",
    }
).union(*({name.decode() for name in lookup.verdict_headers} for lookup in LOOKUPS.values()))


def certificate_header_name(value: object) -> str:
    """Return the name in lower case; raises ValueError with what is allowed."""
    name = str(value).lower()
    if not _NAME.fullmatch(name) or name.count("-") > _MOST_HYPHENS:
        raise ValueError(
            f"the name of a header: letters, digits and at most {_MOST_HYPHENS} single hyphens"
        )
    if name in _RESERVED:
        raise ValueError("the name of a header that has no other meaning")
    return name
