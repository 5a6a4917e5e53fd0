"""The headers that only the proxy may set, found in one pass.

Many programs treat `_` and `-` as the same, so a name is compared in its canonical spelling, and a
spelling that the proxy does not use is rejected. Spec: attacks A4; Keycloak: 11.1
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

PROXY_SECRET: Final = b"x-realmgate-proxy-secret"
FORWARDED_FOR: Final = b"x-forwarded-for"
FORWARDED_PROTO: Final = b"x-forwarded-proto"
REQUEST_ID: Final = b"x-request-id"
DPOP: Final = b"dpop"
_SET_BY_PROXY: Final = frozenset(
    {
        PROXY_SECRET,
        FORWARDED_FOR,
        FORWARDED_PROTO,
        REQUEST_ID,
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-realmgate-server",
    }
)
_REPEATABLE: Final = frozenset({b"accept", b"accept-language", b"user-agent"})
"""Lists, and what nothing is decided by: a repeated header continues the first.

Spec: RFC 9110 §5.3
"""
_SENT_ONCE: Final = frozenset(
    {
        b"authorization",
        b"content-type",
        b"content-length",
        b"cookie",
        DPOP,
        b"if-match",
        b"if-none-match",
        b"origin",
        b"sec-fetch-mode",
        b"sec-fetch-site",
        b"traceparent",
    }
)


@dataclass(frozen=True, slots=True)
class EdgeHeaders:
    """Headers by lower-case name; `ambiguous` names one that was repeated or misspelled."""

    values: dict[bytes, bytes] = field(repr=False)
    ambiguous: bytes | None

    def text(self, name: bytes) -> str | None:
        value = self.values.get(name)
        return None if value is None else value.decode("latin-1")


class EdgeHeaderReader:
    """Collects the headers of a request that the edge needs."""

    def __init__(self, certificate_headers: Iterable[bytes]) -> None:
        """Reserve `certificate_headers` for the proxy, besides those that every proxy sets."""
        by_proxy = _SET_BY_PROXY.union(certificate_headers)
        self._wanted = by_proxy | _SENT_ONCE | _REPEATABLE
        self._with_hyphens = frozenset(name.replace(b"_", b"-") for name in by_proxy)
        """`<prefix>_0` of a chain has an underscore itself: its other spelling is reserved too."""

    def read(self, headers: Iterable[tuple[bytes, bytes]]) -> EdgeHeaders:
        """Return the headers that the edge needs, and one that is ambiguous."""
        values: dict[bytes, bytes] = {}
        ambiguous: bytes | None = None
        for name, value in headers:
            if name in self._wanted:
                if name not in values:
                    values[name] = value
                elif name in _REPEATABLE:
                    values[name] += b"," + value
                else:
                    ambiguous = name
            elif name in self._with_hyphens or (
                b"_" in name and name.replace(b"_", b"-") in self._with_hyphens
            ):
                ambiguous = name
        return EdgeHeaders(values, ambiguous)
