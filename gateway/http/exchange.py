"""One request on its way through the gateway: facts of the edge, path segments, log fields.

Segments are taken from the path as it was sent, each unescaped separately.
Spec: RFC 3986 §2.4 (components are separated before they are decoded)
"""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import quote, unquote

from starlette.types import Scope

from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import SecurityHeaders
from gateway.http.edge import EdgeFacts
from gateway.protocol.requests import NO_PAGE, SendingPage

_PREFIX: Final = "auth"
_ASCII: Final = bytes(range(128))


def split_path(scope: Scope) -> Sequence[str]:
    """Return the segments, without the prefix /auth and an empty one at the end."""
    segments = [unquote(segment) for segment in escaped_path(scope).split("/")[1:]]
    if segments and not segments[-1]:
        segments.pop()
    return segments[1:] if segments and segments[0] == _PREFIX else segments


def escaped_path(scope: Scope) -> str:
    """Return the path as it was sent, with characters beyond ASCII escaped."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    path = raw.partition(b"?")[0]
    return path.decode("ascii") if path.isascii() else quote(path, safe=_ASCII)


EXCHANGE: Final = "realmgate.exchange"
"""Where the scope of a request holds its exchange."""


@dataclass
class LogFields:
    """What became known of one request, for its log line; None is left out. Rules never read it."""

    realm: str | None = None
    client: str | None = None
    client_auth_method: str | None = None
    token_id: str | None = None
    user: str | None = None
    reason: str | None = None
    """Why the request was refused."""


@dataclass(slots=True)
class Exchange:
    """What is known of one request.

    `route` is the pattern that matched. `realm` is that of the path, and `security_headers` are
    those of the realm of the response: None until an endpoint has looked the realm up. `page` is
    that of a browser which sent the request. `log_level` is that of the request's line, one of the
    levels of `logging`. `request_id` is the proxy's, or a random one. Without the edge's `facts`,
    which every endpoint has, an exchange raises AttributeError.
    """

    facts: EdgeFacts = field(init=False)
    route: str = "unmatched"
    realm: RealmEntry | None = None
    security_headers: SecurityHeaders | None = None
    page: SendingPage = NO_PAGE
    log: LogFields = field(default_factory=LogFields)
    log_level: int = logging.INFO
    request_id: str = field(default_factory=partial(secrets.token_hex, 16))
