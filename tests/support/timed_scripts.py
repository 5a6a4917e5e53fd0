"""Redis scripts that go by a clock that tests set, in place of the server's."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from gateway.domain.clock import Clock
from gateway.storage.redis.connection import RedisClient, ServerScript

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimedScript(ServerScript):
    """A script whose prologue takes the instant of `clock` from an argument of its own."""

    prologue: ClassVar = """
local instant = tonumber(table.remove(ARGV))
local function microseconds()
  return instant
end
"""

    def __init__(self, client: RedisClient, name: str, clock: Clock) -> None:
        super().__init__(client, name)
        self._clock = clock

    async def __call__(self, *arguments: str | int) -> Any:
        """Run the script at the clock's instant."""
        return await super().__call__(*arguments, microseconds_of(self._clock.now()))


def microseconds_of(instant: datetime) -> int:
    """Return the time since 1970."""
    return (instant - _EPOCH) // timedelta(microseconds=1)


def scripts_at(clock: Clock) -> Callable[[RedisClient, str], TimedScript]:
    """Return what loads scripts that go by `clock`."""
    return lambda client, name: TimedScript(client, name, clock)
