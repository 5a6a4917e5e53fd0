"""Sign-ins that have begun: kept by the browser, sealed, until it comes back from the realm.

Nothing is stored before a user has signed in. Each sign-in has a cookie of its own, so that several
tabs can sign in at once; `surplus` bounds them.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.secrets_at_rest import SecretsAtRest

LIFESPAN: Final = timedelta(minutes=30)
"""How long a user has to sign in."""
_MOST: Final = 6
_LONGEST_TOGETHER: Final = 5000
"""Characters of all names and values: proxies take 8 KiB of cookies, the service's among them."""
_RANDOM_BYTES: Final = 32
_ID_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """One sign-in; `state`, `nonce` and `verifier` are random texts of 43 characters."""

    return_url: str = field(repr=False)
    began_at: datetime
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)

    @classmethod
    def new(cls, return_url: str, now: datetime) -> Self:
        state, nonce, verifier = (secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3))
        return cls(return_url, now, state, nonce, verifier)

    @property
    def id(self) -> str:
        """The name of the sign-in, which is not secret."""
        return pending_id(self.state)


def pending_id(state: str) -> str:
    """Return the id of the sign-in that a `state` belongs to."""
    return state[:_ID_LENGTH]


class PendingSignIns:
    """Seals sign-ins for the host where they began, and opens them there."""

    def __init__(self, secrets_at_rest: SecretsAtRest) -> None:
        self._secrets = secrets_at_rest

    def seal(self, pending: PendingSignIn, host: str) -> str:
        """Return the sign-in as ASCII text that the browser can neither read nor make."""
        began = int(pending.began_at.timestamp())
        fields = [pending.return_url, began, pending.state, pending.nonce, pending.verifier]
        return self._secrets.seal(json.dumps(fields, separators=(",", ":")), _context(host))

    def open(self, sealed: str, host: str, now: datetime) -> PendingSignIn | None:
        """Return the sign-in, None where it is too old or none of this host."""
        try:
            opened = self._secrets.unseal(sealed, _context(host))
        except SecretUnreadable:
            return None
        url, began, state, nonce, verifier = json.loads(opened)
        pending = PendingSignIn(url, datetime.fromtimestamp(began, UTC), state, nonce, verifier)
        return pending if now < pending.began_at + LIFESPAN else None

    def surplus(
        self, sealed: Mapping[str, str], added: str, host: str, now: datetime
    ) -> tuple[str, ...]:
        """Return the names of those to remove when `added` comes to `sealed`: the oldest."""
        opened = {name: self.open(value, host, now) for name, value in sealed.items()}
        begun = {name: pending.began_at for name, pending in opened.items() if pending is not None}
        kept, length = 1, len(added)
        removed = [name for name in sealed if name not in begun]
        for name in sorted(begun, key=lambda each: begun[each], reverse=True):
            kept, length = kept + 1, length + len(name) + len(sealed[name])
            if kept > _MOST or length > _LONGEST_TOGETHER:
                removed.append(name)
        return tuple(removed)


def _context(host: str) -> str:
    return f"site-sign-in:{host}"
