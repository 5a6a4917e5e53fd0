"""The prefix of an access token's id: kind of session, kind of token, grant. Keycloak: 2.2."""

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.domain.errors import InvalidToken

EXCHANGED: Final = "te"
"""The two letters of the grant that exchanges tokens."""
_REGULAR: Final = "rt"
_LIGHTWEIGHT: Final = "lt"
_TOKEN_ID: Final = re.compile(r"(on|of|tr)(rt|lt)([a-z]{2}):.+", re.ASCII | re.DOTALL)


class SessionKind(StrEnum):
    """Where the token's session is stored: Redis, SQL, or nowhere."""

    ONLINE = "on"
    OFFLINE = "of"
    TRANSIENT = "tr"


@dataclass(frozen=True, slots=True)
class TokenContext:
    """How a token was issued. `grant` is the grant's two letters."""

    session: SessionKind
    lightweight: bool
    grant: str


def new_token_id(session: SessionKind, grant: str, *, lightweight: bool) -> str:
    """Return a new id with the prefix that `parse_token_id` reads."""
    return f"{session}{_LIGHTWEIGHT if lightweight else _REGULAR}{grant}:{_random_uuid()}"


def _random_uuid() -> str:
    """Return a UUID of version 4 as `uuid.uuid4()` does, at a third of the cost. RFC 9562 §5.4."""
    octets = bytearray(os.urandom(16))
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def parse_token_id(token_id: object) -> TokenContext:
    """Return the context of a token by its `jti`; raises InvalidToken."""
    found = _TOKEN_ID.fullmatch(token_id) if isinstance(token_id, str) else None
    if found is None:
        raise InvalidToken("its jti is not one of ours")
    session, kind, grant = found.groups()
    return TokenContext(SessionKind(session), kind == _LIGHTWEIGHT, grant)
