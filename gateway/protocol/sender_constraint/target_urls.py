"""The URL that a DPoP proof names, compared with those of the endpoint.

Query and fragment do not count; scheme, host, port, escapes and dot segments are normalized.
Spec: RFC 9449 §4.3, number 9; RFC 3986 §6.2.2, §6.2.3
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import SplitResult, urlsplit

from gateway.domain.limits.caches import cached

_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHARACTERS: Final = re.compile(r"[!#-;=?-Z_a-z~\[\]]*")
"""Those of RFC 3986: of others a parser may drop some and keep some."""
_USUAL_PORTS: Final = {"https": 443, "http": 80}
_REMEMBERED_BYTES: Final = 1024 * 1024


def names_one_of(sent: str, urls: Iterable[str]) -> bool:
    """Tell whether `sent` is one of the URLs; raises ValueError where it is no http(s) URL."""
    named = normalized(sent)
    return any(normalized(url) == named for url in urls)


@cached(_REMEMBERED_BYTES)
def normalized(url: str) -> str:
    """Return the URL in its normal form, without query and fragment.

    Raises ValueError for anything but an absolute http or https URL without user information.
    """
    if _CHARACTERS.fullmatch(url) is None:
        raise ValueError("a character that URLs do not contain")
    parts = urlsplit(url)
    if parts.scheme not in _USUAL_PORTS or not _host(parts) or "@" in parts.netloc:
        raise ValueError("not an absolute http or https URL")
    return f"{parts.scheme}://{_authority(parts)}{_path(parts.path)}"


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def _authority(parts: SplitResult) -> str:
    host = _host(parts)
    host = f"[{host}]" if ":" in host else host
    port = parts.port
    return host if port in (None, _USUAL_PORTS[parts.scheme]) else f"{host}:{port}"


def _path(path: str) -> str:
    unescaped = _ESCAPE.sub(_normal_escape, path)
    if _ESCAPE.sub("", unescaped).count("%"):
        raise ValueError("an escape without two hexadecimal digits")
    kept: list[str] = []
    segments = unescaped.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in {".", ".."}:
        kept.append("")
    return f"/{'/'.join(kept)}"


def _normal_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()
