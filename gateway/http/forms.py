"""Strict parsing of form bodies within limits: URL-encoded, and multipart.

64 KiB a body, 100 fields, 16 KiB a value; percent-encoding and UTF-8 must be complete, NUL is
rejected. A multipart form has complete parts with names, each name once.
Spec: RFC 6749 §3.2, WHATWG URL §5, RFC 7578, RFC 2046 §5.1; attacks E11, C19: two readers that see
two forms
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from starlette.types import Receive

MAX_BODY: Final = 64 * 1024
MAX_FIELDS: Final = 100
MAX_VALUE: Final = 16 * 1024
_FORM: Final = b"application/x-www-form-urlencoded"
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class FormRefused(Exception):
    """A body is rejected: wrong type, too large or malformed; `description` is public."""

    def __init__(self, status: HTTPStatus, description: str) -> None:
        super().__init__(description)
        self.status = status
        self.description = description


def is_form(content_type: bytes | None) -> bool:
    """Tell whether a body is a URL-encoded form; raises FormRefused for one that is not UTF-8."""
    kind, _, parameters = (content_type or b"").partition(b";")
    if kind.strip().lower() != _FORM:
        return False
    charset = parameters.strip().lower().removeprefix(b"charset=").strip(b'"')
    if charset not in {b"", b"utf-8"}:
        raise FormRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not UTF-8")
    return True


async def read_body(
    receive: Receive, content_length: bytes | None, largest: int = MAX_BODY
) -> bytes:
    """Return the whole body; raises FormRefused as soon as it is known to be too large."""
    if content_length is not None and int(content_length) > largest:
        raise _too_large()
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise FormRefused(HTTPStatus.BAD_REQUEST, "The body ended early")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > largest:
            raise _too_large()
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def read_form(receive: Receive, sent: Mapping[bytes, bytes]) -> list[tuple[str, str]]:
    """Return the decoded pairs of a request; any other body counts as an empty form."""
    body = await read_body(receive, sent.get(b"content-length"))
    return parse_form(body) if is_form(sent.get(b"content-type")) else []


def parse_form(body: bytes, most: int = MAX_FIELDS) -> list[tuple[str, str]]:
    """Return the decoded pairs in order, at most `most`, empty values included."""
    if not body:
        return []
    if _BAD_ESCAPE.search(body):
        raise _malformed("percent-encoding")
    try:
        text = body.decode("ascii")
        if "%" in text or "+" in text:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=most)
        elif text.count("&") < most:
            # Most forms have nothing to decode: a third of the cost.
            fields = [field.partition("=") for field in text.split("&") if field]
            pairs = [(name, value) for name, _, value in fields]
        else:
            raise _too_many()
    except UnicodeDecodeError as error:
        raise _malformed("character encoding") from error
    except ValueError as error:
        raise _too_many() from error
    for name, value in pairs:
        if len(name) > MAX_VALUE or len(value) > MAX_VALUE:
            raise FormRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Form parameter too long")
        if "\0" in name or "\0" in value:
            raise _malformed("NUL")
    return pairs


def query_names(query: bytes) -> list[str]:
    """Return the names in a query; values in a query are never used."""
    if query.count(b"&") >= MAX_FIELDS:
        raise FormRefused(HTTPStatus.BAD_REQUEST, "Too many query parameters")
    return [name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)]


def _malformed(what: str) -> FormRefused:
    return FormRefused(HTTPStatus.BAD_REQUEST, f"Malformed form: {what}")


def _too_many() -> FormRefused:
    return FormRefused(HTTPStatus.BAD_REQUEST, "Too many form parameters")


def _too_large() -> FormRefused:
    return FormRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request body is too large")


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
        raise _malformed_multipart("it does not begin and end with its boundary")
    if len(pieces) - 2 > _MOST_PARTS:
        raise _malformed_multipart(f"more than {_MOST_PARTS} parts")
    found: dict[str, bytes] = {}
    for piece in pieces[1:-1]:
        name, content = _part(piece)
        if name in found:
            raise _malformed_multipart("a name comes twice")
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
        raise _malformed_multipart("something stands beside a boundary")
    head, separator, content = piece[len(_LINE) :].partition(_LINE + _LINE)
    if not separator or len(head) > _LONGEST_HEAD:
        raise _malformed_multipart("a part without a head, or with too long a one")
    lines = head.split(_LINE)
    names = [found.group(1) for found in map(_DISPOSITION.fullmatch, lines) if found]
    if len(names) != 1:
        raise _malformed_multipart("a part without a name")
    encodings = (line.lower().removeprefix(_ENCODING).strip() for line in _encodings(lines))
    if not _UNENCODED.issuperset(encodings):
        raise _malformed_multipart("a part that is encoded")
    return names[0].decode("ascii"), content


def _encodings(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if line.lower().startswith(_ENCODING)]


def _malformed_multipart(what: str) -> FormRefused:
    return FormRefused(HTTPStatus.BAD_REQUEST, f"Malformed multipart form: {what}")
