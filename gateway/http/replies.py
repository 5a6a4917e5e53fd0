"""Responses as values, in Keycloak's media types.

Keycloak: 0.2 (error bodies), 0.3 (content types)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.types import Send

from gateway.domain.limits.input_sizes import in_slices

Headers = tuple[tuple[bytes, bytes], ...]

JSON: Final = (b"content-type", b"application/json")
JSON_UTF8: Final = (b"content-type", b"application/json;charset=UTF-8")
_AT_ONCE: Final = 100
"""Items of a list that are encoded in one step."""
NOT_KEPT: Final[Headers] = ((b"cache-control", b"no-store, must-revalidate, max-age=0"),)
"""Of responses that the back button must not show again. Keycloak: 12.9 device authorization"""
NO_STORE: Final[Headers] = ((b"cache-control", b"no-store"), (b"pragma", b"no-cache"))


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response."""

    status: int
    headers: Headers = ()
    body: bytes = b""


def json_reply(
    document: Any,
    *,
    status: int = HTTPStatus.OK,
    headers: Headers = (),
    content_type: tuple[bytes, bytes] = JSON,
) -> Reply:
    """Return `document` as JSON."""
    return Reply(status, (content_type, *headers), orjson.dumps(document))


async def large_json_reply(document: Any, *, content_type: tuple[bytes, bytes] = JSON) -> Reply:
    """Return `document` as JSON; other requests have their turns while it is encoded."""
    pieces = [piece async for piece in in_slices(_encoded(document))]
    return Reply(HTTPStatus.OK, (content_type,), b"".join(pieces))


def _encoded(document: Any) -> Iterator[bytes]:
    """Yield the pieces of the encoded document: the items of its long lists a few at a time."""
    if isinstance(document, list) and len(document) > _AT_ONCE:
        for start in range(0, len(document), _AT_ONCE):
            items = orjson.dumps(document[start : start + _AT_ONCE])
            yield (b"," if start else b"[") + items[1:-1]
        yield b"]"
    elif isinstance(document, dict) and any(_is_long(member) for member in document.values()):
        for place, (name, member) in enumerate(document.items()):
            yield (b"," if place else b"{") + orjson.dumps(name) + b":"
            yield from _encoded(member)
        yield b"}"
    else:
        yield orjson.dumps(document)


def _is_long(member: Any) -> bool:
    return isinstance(member, list) and len(member) > _AT_ONCE


def jwt_reply(token: str, media_type: str) -> Reply:
    """Return a compact JWS as the body."""
    return Reply(HTTPStatus.OK, ((b"content-type", media_type.encode()),), token.encode("ascii"))


def prose_error(status: HTTPStatus, text: str, headers: Headers = ()) -> Reply:
    """Return an error of family B: `{"error": "<prose>"}`."""
    return json_reply({"error": text}, status=status, headers=headers)


def oauth_error(
    error: str,
    description: str | None,
    *,
    status: int = HTTPStatus.BAD_REQUEST,
    headers: Headers = (),
) -> Reply:
    """Return an error of family A. Spec: RFC 6749 §5.2."""
    document = {"error": error}
    if description is not None:
        document["error_description"] = description
    return json_reply(document, status=status, headers=headers)


async def send_reply(reply: Reply, send: Send) -> None:
    """Send the reply as one response."""
    length = (b"content-length", str(len(reply.body)).encode())
    await send(
        {
            "type": "http.response.start",
            "status": reply.status,
            "headers": [*reply.headers, length],
        }
    )
    await send({"type": "http.response.body", "body": reply.body})
