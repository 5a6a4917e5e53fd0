"""`passwordAge(days)`: not the current password, nor one that was set within so many days.

-1 switches it off. Keycloak: password policy `passwordAge`.
"""

from datetime import timedelta
from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument

_DEFAULT: Final = 30
_OFF: Final = -1


class PasswordAge:
    """The rule."""

    name = "passwordAge"
    description = number_argument("Not Recently Used (In Days)", str(_DEFAULT))

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        days = int(argument or _DEFAULT)
        if days == _OFF:
            return
        current = (candidate.current,) if candidate.current is not None else ()
        age = timedelta(days=days)
        recent = [one for one in candidate.former if candidate.now - one.made_at < age]
        for earlier in (*current, *recent):
            if await earlier.is_it(candidate.password):
                raise PasswordRefused("Generic", "new password does not match password policies.")
