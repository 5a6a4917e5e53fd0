"""Compact JWS and the headers of JWS and JWE: strict parsing before any verification.

Canonical base64url parts, at most 16 kB, a header that is one JSON object in UTF-8 without a
repeated name. Everything else raises InvalidToken and nothing else. The encoded headers of a key
are computed once. Spec: RFC 7515 §4, §5.2, §7.1, RFC 7516 §4; RFC 8725 §2.4.
Keycloak: header {"alg","typ","kid"}, in this order
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from gateway.domain import base64url
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import HeaderType, RealmKey

_MAX_HEADER_LENGTH: Final = 2 * 1024


def decoded(part: str, name: str) -> bytes:
    """Return the bytes of one part; raises InvalidToken unless it is canonical base64url."""
    try:
        return base64url.decode(part)
    except ValueError as error:
        raise InvalidToken(f"the {name} is {error}") from error


def read_header(part: str) -> dict[str, Any]:
    """Return the header, one JSON object in UTF-8; raises InvalidToken."""
    if len(part) > _MAX_HEADER_LENGTH:
        raise InvalidToken(f"the header is longer than {_MAX_HEADER_LENGTH} characters")
    raw = decoded(part, "header")
    try:
        header = json.loads(raw.decode("utf-8"), object_pairs_hook=_without_repetition)
    # A header of nothing but opening brackets exhausts the parser's stack.
    except (ValueError, RecursionError) as error:
        raise InvalidToken("the header is not JSON without repeated names") from error
    if not isinstance(header, dict):
        raise InvalidToken("the header is not a JSON object")
    return header


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("a name is repeated")
    return unique


MAX_TOKEN_LENGTH = 16 * 1024
_PARTS = 3


@dataclass(frozen=True, slots=True)
class CompactJws:
    """The parts of a token; `payload` is not decoded before the signature holds."""

    header: dict[str, Any]
    signing_input: bytes
    payload: str
    signature: bytes


def parse_jws(token: str, *, read: bool = True) -> CompactJws:
    """Split a token; raises InvalidToken. Without `read` the header stays unparsed and empty."""
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


def parse_claims(payload: bytes) -> dict[str, Any]:
    """Return the claims of a decoded payload; raises InvalidToken unless it is a JSON object."""
    try:
        claims = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise InvalidToken("the payload is not JSON") from error
    if not isinstance(claims, dict):
        raise InvalidToken("the payload is not a JSON object")
    return claims


def encoded_headers(record: RealmKey) -> Mapping[HeaderType, str]:
    """Return the base64url text of each header that `record` may sign with, encoded once."""
    return {
        header_type: base64url.encode(
            orjson.dumps({"alg": record.algorithm, "typ": header_type, "kid": record.kid})
        )
        for header_type in HeaderType
    }
