"""Values that must never be printed or dumped: secrets, and the port that encrypts them at rest."""

import hmac
import re
from typing import Final, Protocol

_SECRET_SHAPES: Final = re.compile(
    r"-----BEGIN"  # PEM
    r"|\beyJ[\w-]{5,}\.[\w-]"  # a token
    r"|://[^/\s@]*:[^/\s@]*@"  # an address with a password
)


def looks_secret(text: str) -> bool:
    """Tell whether a key, a token or an address with a password stands in `text`."""
    # Asked of every text of every event, and nearly none has even these.
    if "eyJ" not in text and "-----BEGIN" not in text and "://" not in text:
        return False
    return _SECRET_SHAPES.search(text) is not None


class Secret:
    """Secret text that stays out of reprs, logs, errors and events; compared in constant time."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the plain value, for the one place that needs it."""
        return self._value

    def matches(self, candidate: str) -> bool:
        """Tell in constant time whether `candidate` is the secret."""
        return hmac.compare_digest(
            self._value.encode("utf-8", "surrogatepass"), candidate.encode("utf-8", "surrogatepass")
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.matches(other.reveal())

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__


class SecretsAtRest(Protocol):
    """Authenticated encryption under the operator's key."""

    def seal(self, plaintext: str, context: str) -> str:
        """Encrypt for `context` (`client-secret:<realm id>:<client id>`); the result is ASCII."""

    def derive_key(self, purpose: str) -> bytes:
        """Return 32 bytes for a purpose, the same in all gateways.

        They change when the oldest encryption key is no longer configured.
        """

    def unseal(self, sealed: str, context: str) -> str:
        """Decrypt; raises SecretUnreadable when altered, moved or sealed under another key."""
