"""The parts of a compact JWS or JWE: canonical base64url, and a header without repeated names.

Everything else raises InvalidToken and nothing else. Spec: RFC 7515 §4, RFC 7516 §4; RFC 8725 §2.4
"""

import json
from typing import Any, Final

from gateway.domain import base64url
from gateway.domain.errors import InvalidToken

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
