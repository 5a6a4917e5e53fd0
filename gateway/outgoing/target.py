"""The parts of a URL that the gateway may request; anything ambiguous is refused.

Spec: RFC 3986 §3; attacks C20, C21
"""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable

_MOST_CHARACTERS: Final = 2048
_PLAIN: Final = re.compile(r"[!-~]+")
_AMBIGUOUS: Final = re.compile(r"[\\<>\"^`{|}]")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]+")
_PORTS: Final = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Target:
    """What is requested, and of which server. `path` is with its query."""

    secure: bool
    host: str
    port: int
    path: str = field(repr=False)

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = _PORTS["https" if self.secure else "http"]
        return host if self.port == default else f"{host}:{self.port}"


def parse_target(url: str, *, allow_http: bool) -> Target:
    """Take a URL apart; raises DocumentUnavailable with the reason."""
    if len(url) > _MOST_CHARACTERS or not _PLAIN.fullmatch(url) or _AMBIGUOUS.search(url):
        raise DocumentUnavailable("the URL is too long, or contains characters that it must not")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise DocumentUnavailable("the URL has no valid host or port") from error
    if parts.scheme != "https" and not (allow_http and parts.scheme == "http"):
        raise DocumentUnavailable("the URL does not begin with https")
    if "@" in parts.netloc:
        raise DocumentUnavailable("the URL contains credentials")
    if not _HOST.fullmatch(host) or port == 0:
        raise DocumentUnavailable("the URL has no valid host or port")
    query = f"?{parts.query}" if parts.query else ""
    path = (parts.path or "/") + query
    return Target(parts.scheme == "https", host, port or _PORTS[parts.scheme], path)
