"""Codes for the token endpoint: authorization codes, device codes and user codes.

An authorization code names its session and its client, so that a code edited to name others is
unknown. A device polls with its device code; its user types the user code, which the device shows,
in a browser elsewhere.
Spec: RFC 6749 §4.1.2; RFC 8628 §3.1 to §3.5, §6.1; Keycloak: 1.4 code grant, 1.8 device grant, 12.9
device authorization; attacks: C4, C5
"""

import re
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
    def parse_name(cls, text: str) -> Self | None:
        """Return the parts of a code, None for what cannot be one; ids of clients may have dots."""
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
    generation: int | None = None
    """Of the client session; None for a code of an earlier version."""


@dataclass(frozen=True, slots=True)
class IssuedCode:
    """A new code, which can be redeemed for `lifespan`."""

    code: AuthorizationCode
    lifespan: timedelta


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
    """The result of redeeming a code; `code` is there the first time, `session` while it lasts."""

    redemption: Redemption
    code: AuthorizationCode | None = None
    session: UserSession | None = None


_DEVICE_CODE_BYTES: Final = 32
_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that no words arise; no letter that looks like a digit. Spec: RFC 8628 §6.1"""
_LENGTH: Final = 8
_LONGEST_TYPED: Final = 64
_NO_LETTER: Final = re.compile("[^A-Z]")


def new_device_code() -> str:
    """Return 43 characters that cannot be guessed."""
    return secrets.token_urlsafe(_DEVICE_CODE_BYTES)


def new_user_code() -> str:
    """Return 8 letters, one of 2.5e10 codes."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def displayed_user_code(code: str) -> str:
    """Return the code as the device shows it: `ABCD-EFGH`."""
    return f"{code[:4]}-{code[4:]}"


def parse_user_code(typed: str) -> str | None:
    """Return the code that a user typed, None for none; case and other characters are ignored."""
    code = _NO_LETTER.sub("", typed.upper()) if len(typed) <= _LONGEST_TYPED else ""
    return code if len(code) == _LENGTH and set(_LETTERS).issuperset(code) else None


@dataclass(frozen=True, slots=True)
class DeviceAuthorization:
    """What a device asks for."""

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)
    """As `parse_user_code` returns it."""
    client: str
    """The client's internal id."""
    client_id: str
    scope: str
    """All granted scopes, also those that tokens do not name; space separated."""
    interval: timedelta
    """The least pause between two polls."""
    nonce: str | None = field(default=None, repr=False)
    code_challenge: str | None = None
    code_challenge_method: str | None = None
    certificate: str | None = None
    """Thumbprint of the certificate that the device must poll with; None for any."""
    is_anonymous: bool = False
    """A public client, which is not authenticated, asked; the store does not return it."""


@dataclass(frozen=True, slots=True)
class DeviceApproval:
    """The sign-in of the user who connected the device."""

    session_id: str
    user_id: str
    approved_at: datetime
    acr: str | None = None
    authenticated_at: datetime | None = None
    generation: int | None = None
    """Of the client session; None for an approval by an earlier version."""


class DeviceStatus(StrEnum):
    """What the store answers to a poll, or to a user code."""

    UNKNOWN = "unknown"
    """It was never issued, is forgotten, or has got its tokens."""
    EXPIRED = "expired"
    OTHER_CLIENT = "other_client"
    """The code belongs to another client."""
    TOO_FAST = "too_fast"
    """The last poll was less than the interval ago."""
    PENDING = "pending"
    """The user has not answered."""
    DENIED = "denied"
    APPROVED = "approved"
    TOO_MANY_GUESSES = "too_many_guesses"
    """The address has tried too many user codes that do not exist."""


@dataclass(frozen=True, slots=True)
class DevicePoll:
    """The answer to a poll; no authorization if it is not the client's, or polled too fast."""

    status: DeviceStatus
    authorization: DeviceAuthorization | None = None
    approval: DeviceApproval | None = None


@dataclass(frozen=True, slots=True)
class DeviceOfUserCode:
    """The answer to a user code; the authorization is there while it is pending."""

    status: DeviceStatus
    authorization: DeviceAuthorization | None = None


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """How many unknown user codes may come from one address, and within which time."""

    most: int = 20
    window: timedelta = timedelta(minutes=10)
