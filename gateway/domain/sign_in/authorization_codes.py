"""Authorization codes: what a client may redeem once for the tokens of one sign-in.

A code names its session and its client, so that one edited to name others is another code, and
unknown. Spec: RFC 6749 §4.1.2; Keycloak: 1.4; attacks: C4, C5
"""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Self

from gateway.domain.sessions import UserSession

LONGEST_REPLAY_WINDOW: Final = timedelta(minutes=10)
"""How long a redeemed code is at most remembered, which bounds the memory of its store."""
_RANDOM_BYTES: Final = 24
_LONGEST: Final = 512


@dataclass(frozen=True, slots=True)
class CodeName:
    """The three parts of a code: random id, user session, the client's internal id."""

    id: str = field(repr=False)
    session_id: str
    client: str

    @classmethod
    def new(cls, session_id: str, client: str) -> Self:
        return cls(secrets.token_urlsafe(_RANDOM_BYTES), session_id, client)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the parts of a code, None for what cannot be one.

        The id of a client may contain dots, those of codes and sessions do not.
        """
        parts = text.split(".", 2) if len(text) <= _LONGEST else []
        return cls(*parts) if len(parts) == 3 and all(parts) else None  # noqa: PLR2004 - the parts

    @property
    def text(self) -> str:
        """The code as the client sends it."""
        return f"{self.id}.{self.session_id}.{self.client}"


@dataclass(frozen=True, slots=True)
class AuthorizationCode:
    """What tokens of a code are made of, as the client's request and the sign-in decided it."""

    name: CodeName
    user_id: str
    scope: str
    """All granted scopes, also those that tokens do not name; space separated."""
    issued_at: datetime
    redirect_uri: str | None = None
    """As the client sent it; None where its request had none."""
    nonce: str | None = field(default=None, repr=False)
    code_challenge: str | None = None
    code_challenge_method: str | None = None
    """None stands for `plain`. Spec: RFC 7636 §4.3"""
    certificate: str | None = None
    """Thumbprint of the certificate that the client must redeem it with; None for any."""
    proof_key: str | None = None
    """Thumbprint of the DPoP key that the client must redeem it with; None for any."""
    acr: str | None = None
    authenticated_at: datetime | None = None
    claims: str = ""
    """The parameter `claims` of the request, empty without one."""


@dataclass(frozen=True, slots=True)
class IssuedCode:
    """A new code, which can be redeemed for `lifespan`."""

    code: AuthorizationCode
    lifespan: timedelta

    @property
    def text(self) -> str:
        """The code as the client gets it."""
        return self.code.name.text


class Redemption(StrEnum):
    """What the store knows of a code that is presented."""

    FIRST = "first"
    """It was valid until now, and is no more."""
    REPLAYED = "replayed"
    """It was redeemed before: what it was redeemed for is to be revoked."""
    UNKNOWN = "unknown"
    """It expired, was never issued, or is forgotten."""


@dataclass(frozen=True, slots=True)
class RedeemedCode:
    """The result of redeeming a code; `code` is there the first time only.

    `session` is the code's online session as it was then; None where it has ended.
    """

    redemption: Redemption
    code: AuthorizationCode | None = None
    session: UserSession | None = None
