"""`passwordHistory(n)`: none of the last n passwords, the current one among them.

-1 switches it off; 0 and 1 forbid the current one alone. Keycloak: password policy
`passwordHistory`, which keeps n - 1 former hashes beside the current one.
"""

from typing import Final

from gateway.policies.candidate import Candidate, PasswordRefused
from gateway.policies.description import number_argument

_DEFAULT: Final = 3
_OFF: Final = -1


class PasswordHistory:
    """The rule, with its number."""

    name = "passwordHistory"
    description = number_argument("Not Recently Used", str(_DEFAULT))

    async def check(self, candidate: Candidate, argument: str | None) -> None:
        wanted = int(argument or _DEFAULT)
        if wanted == _OFF:
            return
        current = (candidate.current,) if candidate.current is not None else ()
        for earlier in (*current, *candidate.former[: max(0, wanted - 1)]):
            if await earlier.is_it(candidate.password):
                raise PasswordRefused(
                    "History", "must not be equal to any of last {0} passwords.", wanted
                )
