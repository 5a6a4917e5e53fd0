"""Requests that arrive whole and in plain form, as a proxy sends them, read in a few steps.

This reader accepts a strict part of what h11 accepts, and reads it as h11 does. It leaves all else
to h11: requests in pieces or several at once, other versions, CONNECT, transfer codings, options
of the connection, folded lines, bytes beyond ASCII, and every malformed request.
Spec: RFC 9112 §3, §5, §6
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

_REQUEST_LINE: Final = re.compile(rb"([A-Z]+) (/[!-~]*) HTTP/1\.1")
_NAME: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TEXT: Final = bytes(range(0x20, 0x7F)) + b"\t"
_LEFT_TO_H11: Final = frozenset({b"transfer-encoding", b"connection", b"expect", b"upgrade"})
_LENGTH_DIGITS: Final = 9
_LONGEST_NAME: Final = 64
"""Of a header that is read here: names are cached, and a peer chooses them."""

Headers = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class WholeRequest:
    """A request with all of its body; the names of its headers are in lower case."""

    method: str
    target: bytes
    headers: Headers
    body: bytes


def read_whole_request(data: bytes) -> WholeRequest | None:
    """Return the one request in `data`; None where h11 has to read it."""
    head, end, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    # The only line ends are those between the lines; all other bytes are printable.
    if not end or len(head.translate(None, _TEXT)) != 2 * len(lines):
        return None
    line = _REQUEST_LINE.fullmatch(first)
    if line is None or line[1] == b"CONNECT":
        return None
    headers = _read_headers(lines)
    if headers is None or not _is_framed(headers, len(body)):
        return None
    return WholeRequest(line[1].decode(), line[2], headers, body)


def scope_of(
    request: WholeRequest, client: tuple[str, int] | None, server: tuple[str, int] | None
) -> dict[str, Any]:
    """Return the ASGI scope of a request, with the same keys as Hypercorn's."""
    path, _, query = request.target.partition(b"?")
    return {
        "type": "http",
        "http_version": "1.1",
        "asgi": {"spec_version": "2.1", "version": "3.0"},
        "method": request.method,
        "scheme": "http",
        "path": unquote(path.decode()),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": request.headers,
        "client": client,
        "server": server,
        "state": {},
        "extensions": {},
    }


def _read_headers(lines: list[bytes]) -> Headers | None:
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        known = _lower_name(name) if len(name) <= _LONGEST_NAME else None
        if not colon or known is None:
            return None
        headers.append((known, value.strip(b" \t")))
    return headers


@lru_cache(maxsize=512)
def _lower_name(name: bytes) -> bytes | None:
    """Return the name of a header in lower case; None where it decides how a message is read."""
    lower = name.lower()
    return lower if _NAME.fullmatch(name) and lower not in _LEFT_TO_H11 else None


def _is_framed(headers: Headers, rest: int) -> bool:
    """Whether there is one Host, and at most one Content-Length, the length of the rest."""
    hosts, lengths = 0, []
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"content-length":
            lengths.append(value)
    if hosts != 1 or len(lengths) > 1:
        return False
    if not lengths:
        return rest == 0
    length = lengths[0]
    return length.isdigit() and len(length) <= _LENGTH_DIGITS and int(length) == rest
