"""The segments of a request's path as they were sent, each unescaped separately.

Spec: RFC 3986 §2.4 (components are separated before they are decoded)
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, unquote

from starlette.types import Scope

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
