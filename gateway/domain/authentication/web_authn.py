"""What browsers are asked for where users register or present a key: values of a page.

Binary values are Base64url without padding. Spec: WebAuthn Level 3 §5.4, §5.5
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """A key that the user has: the id that authenticators know, its label, its transports."""

    id: str
    label: str = field(default="", repr=False)
    transports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssertionRequest:
    """The options of `navigator.credentials.get`.

    Without `keys` the authenticator names the user. `timeout` in seconds, 0 is the browser's own.
    `lists_keys` shows the user which keys there are.
    """

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
