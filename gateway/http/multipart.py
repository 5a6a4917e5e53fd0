"""Strict parsing of multipart forms: complete parts with names, each name once.

Spec: RFC 7578, RFC 2046 §5.1; attacks: two readers that see two forms
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from gateway.http.form import FormRefused

_MOST_PARTS: Final = 20
_LONGEST_HEAD: Final = 2048
_TYPE: Final = re.compile(
    rb'\s*multipart/form-data\s*(?:;\s*charset="?utf-8"?\s*)?;\s*', re.IGNORECASE
)
_BOUNDARY: Final = re.compile(
    rb"boundary=(?:\"([0-9A-Za-z'()+_,./:=? -]{1,70})\"|([0-9A-Za-z'()+_.-]{1,70}))\s*",
    re.IGNORECASE,
)
_DISPOSITION: Final = re.compile(
    rb'content-disposition:\s*form-data;\s*name="([A-Za-z0-9_.-]{1,100})"(?:;[^\r\n]*)?',
    re.IGNORECASE,
)
_ENCODING: Final = b"content-transfer-encoding:"
_UNENCODED: Final = frozenset({b"binary", b"8bit", b"7bit"})
_LINE: Final = b"\r\n"


def parse_multipart(body: bytes, content_type: bytes | None) -> Mapping[str, bytes]:
    """Return the contents by name; raises FormRefused: 415 for another type, 400 otherwise."""
    boundary = _boundary(content_type or b"")
    pieces = (_LINE + body).split(_LINE + b"--" + boundary)
    if pieces[0] != b"" or pieces[-1] not in {b"--", b"--" + _LINE}:
        raise _malformed("it does not begin and end with its boundary")
    if len(pieces) - 2 > _MOST_PARTS:
        raise _malformed(f"more than {_MOST_PARTS} parts")
    found: dict[str, bytes] = {}
    for piece in pieces[1:-1]:
        name, content = _part(piece)
        if name in found:
            raise _malformed("a name comes twice")
        found[name] = content
    return found


def _boundary(content_type: bytes) -> bytes:
    kind = _TYPE.match(content_type)
    found = kind and _BOUNDARY.fullmatch(content_type, kind.end())
    if not found:
        raise FormRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not a multipart form")
    return bytes(found.group(1) or found.group(2)).rstrip(b" ")


def _part(piece: bytes) -> tuple[str, bytes]:
    if not piece.startswith(_LINE):
        raise _malformed("something stands beside a boundary")
    head, separator, content = piece[len(_LINE) :].partition(_LINE + _LINE)
    if not separator or len(head) > _LONGEST_HEAD:
        raise _malformed("a part without a head, or with too long a one")
    lines = head.split(_LINE)
    names = [found.group(1) for found in map(_DISPOSITION.fullmatch, lines) if found]
    if len(names) != 1:
        raise _malformed("a part without a name")
    encodings = (line.lower().removeprefix(_ENCODING).strip() for line in _encodings(lines))
    if not _UNENCODED.issuperset(encodings):
        raise _malformed("a part that is encoded")
    return names[0].decode("ascii"), content


def _encodings(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if line.lower().startswith(_ENCODING)]


def _malformed(what: str) -> FormRefused:
    return FormRefused(HTTPStatus.BAD_REQUEST, f"Malformed multipart form: {what}")
