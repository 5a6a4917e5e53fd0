"""How much callers without an account may make the gateway store, and what counts as one caller."""

import ipaddress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_PREFIX: Final = 64
"""Bits of an IPv6 address that one subscriber has for itself at least."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many in a window: of one caller, and of all callers of a realm."""

    name: str
    of_caller: int
    of_realm: int
    window: timedelta = timedelta(hours=1)


REGISTRATIONS: Final = RateLimit("registration", of_caller=100, of_realm=10_000)
"""Filled-in forms: a company behind one address may register, a script does not fill the store."""

RESETS: Final = RateLimit("reset-credentials", of_caller=100, of_realm=10_000)
"""Mails that are asked for; the limit of each user is that of the queue."""

LINKS: Final = RateLimit("links-to-address", of_caller=10, of_realm=100_000)
"""Links that users send to one address, which need not be theirs: all of them count together."""


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
