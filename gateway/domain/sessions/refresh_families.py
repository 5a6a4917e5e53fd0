"""The family of a refresh token: which of its tokens is accepted, and which ends it.

The current token is accepted, as often as the realm allows reuse, because a response may get lost.
A successor of it is accepted and becomes the current token. Any other token ends the family, and
an ended family stays ended.
Spec: RFC 9700 §4.14; Keycloak: 2.4; attacks: C9
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

_MOST_SUCCESSORS: Final = 1000
"""The newest are kept; only a realm that allows endless reuse gets here."""


class Rotation(StrEnum):
    """The result of presenting a token to its family."""

    ACCEPTED = "accepted"
    """Its turn, or within the allowed reuse; the successor is known to the family."""
    REUSED = "reused"
    """The current token, used more often than allowed: the family is at an end."""
    STALE = "stale"
    """A token that was retired before, or of a family at an end: so is the family."""


@dataclass(frozen=True, slots=True)
class RefreshFamily:
    """The current token of a family, how often it was used, and the tokens issued for it."""

    token_id: str
    uses: int
    successors: tuple[str, ...]
    expires_at: datetime
    ended: bool

    def use(self, token_id: str, successor: str, max_reuse: int) -> tuple[Rotation, Self]:
        """Return the result for the token, and the family after it."""
        ended = replace(self, ended=True, successors=())
        if token_id == self.token_id:
            if self.uses > max_reuse:
                return Rotation.REUSED, ended
            successors = (*self.successors, successor)[-_MOST_SUCCESSORS:]
            return Rotation.ACCEPTED, replace(self, uses=self.uses + 1, successors=successors)
        if token_id in self.successors:
            after = replace(self, token_id=token_id, uses=1, successors=(successor,))
            return Rotation.ACCEPTED, after
        return Rotation.STALE, ended
