"""Security keys and passkeys: what browsers are asked for, their responses, and the rules for them.

Binary values of pages are Base64url without padding. Spec: WebAuthn Level 3 §5.4, §5.5, §7.1, §7.2
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.errors import RealmgateError


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """A key that the user has: the id that authenticators know, its label, its transports."""

    id: str
    label: str = field(default="", repr=False)
    transports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssertionRequest:
    """Options of `navigator.credentials.get`: no `keys` for any user, `timeout` in seconds."""

    challenge: str = field(repr=False)
    rp_id: str
    timeout: int = 0
    user_verification: str | None = None
    keys: tuple[KeyChoice, ...] = ()
    lists_keys: bool = False
    mediation: str = "conditional"
    """How a page that has another form too offers passkeys."""


@dataclass(frozen=True, slots=True)
class RegistrationRequest:
    """The options of `navigator.credentials.create`; None leaves one out."""

    challenge: str = field(repr=False)
    rp_id: str
    rp_name: str
    user_id: str
    username: str = field(repr=False)
    algorithms: tuple[int, ...]
    timeout: int = 0
    attestation: str | None = None
    attachment: str | None = None
    resident_key: str | None = None
    user_verification: str | None = None
    excluded: tuple[str, ...] = ()
    """Ids of the user's keys, of which no authenticator is to make another one."""


SECURITY_KEY: Final = "webauthn"
"""The type of a credential that is a second factor."""
PASSKEY: Final = "webauthn-passwordless"
"""The type of a credential that stands for a password."""


class WebAuthnRejected(RealmgateError):
    """A response that proves nothing; `str()` is the reason, for events."""


@dataclass(frozen=True, slots=True)
class CeremonyRules:
    """The page of a response: the domain `rp_id` of keys, the `origins` of pages."""

    rp_id: str
    origins: frozenset[str]
    challenge: bytes = field(repr=False)
    requires_verification: bool


@dataclass(frozen=True, slots=True)
class RegistrationRules(CeremonyRules):
    """What a new key must be besides; `algorithms` by Keycloak's names."""

    algorithms: tuple[str, ...]
    requires_attestation: bool
    acceptable_aaguids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegistrationResponse:
    """The browser's response with a new key, decoded."""

    client_data: bytes = field(repr=False)
    attestation_object: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class AssertionResponse:
    """The browser's response of a sign-in with a key, decoded."""

    credential_id: bytes = field(repr=False)
    client_data: bytes = field(repr=False)
    authenticator_data: bytes = field(repr=False)
    signature: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class VerifiedKey:
    """A new key; `public_key` is COSE in CBOR, `aaguid` the model of the authenticator."""

    credential_id: bytes
    public_key: bytes
    aaguid: str
    sign_count: int
    attestation_format: str


def key_digest(kind: str, credential_data: str) -> str | None:
    """Return the digest of the id of a key, or None. Spec: WebAuthn Level 3 §7.1."""
    if kind not in {SECURITY_KEY, PASSKEY}:
        return None
    try:
        key_id = decode(json.loads(credential_data)["credentialId"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # it is no key that could sign
    return hashlib.sha256(key_id).hexdigest()


def decode(text: str) -> bytes:
    """Decode Base64 or Base64url, padded or not, with line breaks; raises ValueError."""
    plain = "".join(text.split()).rstrip("=").replace("+", "-").replace("/", "_")
    try:
        padded = plain.encode("ascii") + b"=" * (-len(plain) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError("not Base64url") from error
