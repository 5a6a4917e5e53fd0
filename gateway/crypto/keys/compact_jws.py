"""Compact JWS: strict parsing before any verification, and the encoded headers of a key.

Three canonical base64url parts, at most 16 kB, a header that is one JSON object in UTF-8 without a
repeated name. Everything else raises InvalidToken and nothing else.
Spec: RFC 7515 §4, §5.2, §7.1; RFC 8725 §2.4. Keycloak: header {"alg","typ","kid"}, in this order
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.crypto.jose_header import decoded, read_header
from gateway.domain import base64url
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import HeaderType, RealmKey

MAX_TOKEN_LENGTH = 16 * 1024
_PARTS = 3


@dataclass(frozen=True, slots=True)
class CompactJws:
    """The parts of a token; `payload` is not decoded before the signature holds."""

    header: dict[str, Any]
    signing_input: bytes
    payload: str
    signature: bytes


def parse(token: str, *, read: bool = True) -> CompactJws:
    """Take `token` apart; raises InvalidToken with the reason.

    The header is empty unless it is to be `read`: for a caller that knows it by its text.
    """
    if len(token) > MAX_TOKEN_LENGTH:
        raise InvalidToken(f"longer than {MAX_TOKEN_LENGTH} characters")
    if not token.isascii():
        raise InvalidToken("not ASCII")
    parts = token.split(".")
    if len(parts) != _PARTS:
        raise InvalidToken("not three parts separated by dots")
    header, payload, signature = parts
    return CompactJws(
        header=read_header(header) if read else {},
        signing_input=token[: -len(signature) - 1].encode("ascii"),
        payload=payload,
        signature=decoded(signature, "signature"),
    )


def encoded_headers(record: RealmKey) -> Mapping[HeaderType, str]:
    """Return the base64url text of each header that `record` may sign with, encoded once."""
    return {
        header_type: base64url.encode(
            orjson.dumps({"alg": record.algorithm, "typ": header_type, "kid": record.kid})
        )
        for header_type in HeaderType
    }
