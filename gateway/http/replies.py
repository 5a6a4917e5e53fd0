"""Responses as values, in Keycloak's media types.

Keycloak: 0.2 (error bodies), 0.3 (content types)
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.types import Send

Headers = tuple[tuple[bytes, bytes], ...]

JSON: Final = (b"content-type", b"application/json")
JSON_UTF8: Final = (b"content-type", b"application/json;charset=UTF-8")
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
