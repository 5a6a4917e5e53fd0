"""Reading the body of an administrative request, strictly and within the limit of its operation.

JSON is judged as everywhere: bounded depth and numbers, no name twice, text that stores can hold.
Spec: RFC 8259; Keycloak: 0.2 (answers to malformed JSON)
"""

import asyncio
from http import HTTPStatus
from typing import Any, Final

from starlette.types import Receive

from gateway.admin.access import (
    InvalidRequest,
    MalformedBody,
)
from gateway.domain.errors import InvalidInput
from gateway.domain.limits.large_documents import LARGE_DOCUMENT
from gateway.http.admin.operations import Body, Media
from gateway.http.edge.headers import EdgeHeaders
from gateway.http.form import FormRefused, read_body
from gateway.http.multipart import parse_multipart
from gateway.representations.json_input import is_plain_text, parse_json

_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


async def read_admin_body(receive: Receive, headers: EdgeHeaders, wanted: Body) -> Any:
    """Return JSON, text or the parts of a form; None where nothing came and nothing is required.

    Raises FormRefused (413, 415) and MalformedBody, or InvalidRequest by the row.
    """
    try:
        return await _read(receive, headers, wanted)
    except MalformedBody as error:
        if not wanted.unreadable:
            raise
        raise InvalidRequest(wanted.unreadable) from error


async def _read(receive: Receive, headers: EdgeHeaders, wanted: Body) -> Any:
    sent = headers.values
    body = await read_body(receive, sent.get(b"content-length"), wanted.largest)
    if not body:
        if wanted.required and wanted.media is not Media.TEXT:
            raise MalformedBody("no body")
        return "" if wanted.media is Media.TEXT else None
    if wanted.media is Media.FORM:
        return parse_multipart(body, sent.get(b"content-type"))
    kind = sent.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if wanted.media is Media.TEXT:
        # Keycloak's own clients send texts as JSON strings now and then, by habit of their headers.
        if kind not in {_TEXT, _JSON, b""}:
            raise FormRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "no plain text")
        return _text(body)
    # Keycloak treats a body without a content type as the expected one.
    if kind not in {_JSON, b""}:
        raise FormRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not JSON")
    if len(body) > LARGE_DOCUMENT:
        # A whole realm takes seconds to judge: the other requests go on meanwhile.
        return await asyncio.to_thread(_json, body, wanted.media)
    return _json(body, wanted.media)


def _json(body: bytes, media: Media) -> Any:
    # Files may begin with one, messages must not: RFC 8259 §8.1.
    if body.startswith(_BYTE_ORDER_MARK):
        raise MalformedBody("a byte order mark before the JSON")
    try:
        value = parse_json(body, "the body")
    except InvalidInput as error:
        # Keycloak reads no further than the first sign of another kind.
        other = media is Media.LIST and not body.lstrip().startswith(b"[")
        raise MalformedBody(str(error), shape=other) from error
    if not _is_of(media, value):
        raise MalformedBody(f"not {media}", shape=True)
    return value


def _is_of(media: Media, value: Any) -> bool:
    if media is Media.LIST:
        return isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return media is not Media.OBJECT or isinstance(value, dict)


def _text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedBody("not UTF-8") from error
    if not is_plain_text(text):
        raise MalformedBody("text that cannot be stored")
    return text
