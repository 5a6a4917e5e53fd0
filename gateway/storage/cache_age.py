"""How long what a worker has read may be used: not for long while no messages arrive."""

from datetime import timedelta
from typing import Final

from gateway.domain.ports.invalidation import Invalidation

UNCONNECTED_AGE: Final = timedelta(seconds=5)
"""While no messages of other gateways arrive."""


def cache_age(
    invalidation: Invalidation, age: timedelta, unconnected: timedelta = UNCONNECTED_AGE
) -> timedelta:
    """Return `age` while messages of other gateways arrive, else `unconnected` at most."""
    return age if invalidation.connected else min(age, unconnected)
