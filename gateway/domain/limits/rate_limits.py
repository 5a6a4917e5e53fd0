"""How often callers may cause mails, accounts and tokens; what counts as one caller; the counter.

Every limit is shared: one network gets a part of it, and the last part is for networks that have
had none of it. So one network, however often it asks, keeps no other one from its first requests; a
caller needs as many networks as `networks_to_exhaust` says. Decision 0023
"""

import ipaddress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

from gateway.domain.limits.caches import cached

_PREFIX: Final = 64
"""Bits of an IPv6 address that one subscriber has for itself at least."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many in a window, of one network and of all, for a realm or each subject in it."""

    name: str
    of_network: int
    in_all: int
    reserve: int = 0
    """Of `in_all`, the last ones: for networks that have had none in the window."""
    of_known: int = 0
    """Networks that the user has signed in from are counted apart: so many of all of these."""
    window: timedelta = timedelta(hours=1)

    @property
    def networks_to_exhaust(self) -> int:
        """How many networks it takes to use the limit up."""
        shared = self.in_all - self.reserve
        return -(-shared // self.of_network) + self.reserve


REGISTRATIONS: Final = RateLimit("registration", of_network=100, in_all=10_000, reserve=2_000)
"""Filled-in forms: a company behind one address may register, a script does not fill the store."""

RESETS: Final = RateLimit("reset-credentials", of_network=100, in_all=10_000, reserve=2_000)
"""Requests for links, for whatever names."""

RESETS_OF_USER: Final = RateLimit("reset-link", of_network=5, in_all=10, reserve=4, of_known=10)
"""Links to one user, or for one name that no user has."""

LINKS: Final = RateLimit("links-to-address", of_network=6, in_all=12, reserve=5)
"""Links that users send to one address, which need not be theirs: all of them count together."""

CLIENT_REGISTRATIONS: Final = RateLimit(
    "client-registration", of_network=100, in_all=10_000, reserve=2_000, window=timedelta(days=1)
)
"""Clients that register themselves without a token, in a realm without `max-clients`."""
_SHARE_OF_CLIENTS: Final = 10
_LEAST_SHARE: Final = 10
_RESERVE_OF_CLIENTS: Final = 5


def client_registrations(most: int | None, known: int) -> RateLimit:
    """Return the limit of a realm with `known` clients that permits `most`; None: any number.

    One network gets a tenth of `most` a day, at least ten, but at most half of the free places.
    """
    if most is None:
        return CLIENT_REGISTRATIONS
    share = min(max(most // _SHARE_OF_CLIENTS, _LEAST_SHARE), (most - known) // 2)
    return replace(
        CLIENT_REGISTRATIONS,
        of_network=max(1, share),
        in_all=max(1, most),
        reserve=most // _RESERVE_OF_CLIENTS,
    )


@cached(256 * 1024)
def caller_of(address: str) -> str:
    """Return what counts as one caller: an IPv4 address, or the network of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed.packed, _PREFIX), strict=False))


class RateLimiter(Protocol):
    """Counts in windows; `network` is as `caller_of` returns it. Raises StoreUnavailable."""

    async def admit(self, realm_id: str, limit: RateLimit, network: str, subject: str = "") -> bool:
        """Count one more; False, and nothing is counted, beyond a share of the limit.

        `subject` is the id of the user or a digest; empty for a limit of the whole realm. Refusals
        and admissions take the same calls of the store.
        """

    async def remember_network(self, realm_id: str, user_id: str, network: str) -> None:
        """Note that the user has signed in from the network: `of_known` counts for it then."""
