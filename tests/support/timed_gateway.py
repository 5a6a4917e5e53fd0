"""A gateway whose clock tests set: its own, and that of the stores beside it.

The tests start the program with these replacements. No setting and no request of the product can
set a clock.
"""

import json
import mmap
import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.domain.clock import SystemClock
from gateway.storage.redis import invalidation
from gateway.storage.redis.connection import ServerScript
from gateway.storage.sql.database import SqlDatabase
from tests.support.administration import ADMIN_PASSWORD, Administration, master
from tests.support.gateway_process import start_gateway, until
from tests.support.redis_server import RedisServer
from tests.support.servers import running
from tests.support.timed_scripts import TimedScript, microseconds_of

_BEGIN = datetime(2031, 5, 1, 12, tzinfo=UTC)
"""Years from the machine's clock, so that what goes by that one fails."""
_INSTANT = struct.Struct("<q")
_AGE_KEYS = """
for _, key in ipairs(redis.call('KEYS', '*')) do
  local ttl = redis.call('PTTL', key)
  if ttl >= 0 and ttl <= tonumber(ARGV[1]) then
    redis.call('DEL', key)
  elseif ttl >= 0 then
    redis.call('PEXPIRE', key, ttl - tonumber(ARGV[1]))
  end
end
"""


class SharedClock:
    """A clock in a file: every process that has opened it shows the instant that one of them set.

    It stands still until it is set again.
    """

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), _INSTANT.size)

    @classmethod
    def create(cls, file: Path, instant: datetime) -> "SharedClock":
        """Write the file."""
        file.write_bytes(bytes(_INSTANT.size))
        clock = cls(file)
        clock.set(instant)
        return clock

    def now(self) -> datetime:
        """Return the instant."""
        (microseconds,) = _INSTANT.unpack(self._memory[:])
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)

    def set(self, instant: datetime) -> None:
        """Show this instant from now on."""
        self._memory[:] = _INSTANT.pack(microseconds_of(instant))


def replace_clocks(file: Path) -> None:
    """Let this process and those that it forks go by the clock in `file`."""
    clock = SharedClock(file)
    run = ServerScript.__call__

    def now(_: object) -> datetime:
        return clock.now()

    async def server_time(*_: object) -> datetime:
        return clock.now()

    async def run_at(script: ServerScript, *arguments: str | int) -> Any:
        return await run(script, *arguments, microseconds_of(clock.now()))

    for owner, name, replacement in (
        (SystemClock, "now", now),
        (SqlDatabase, "server_time", server_time),
        (invalidation, "server_time", server_time),
        (ServerScript, "prologue", TimedScript.prologue),
        (ServerScript, "__call__", run_at),
    ):
        setattr(owner, name, replacement)


@dataclass(frozen=True, slots=True)
class Timed:
    """The gateway, its clock, and its Redis."""

    administration: Administration
    clock: SharedClock
    redis: RedisServer

    def advance(self, **by: float) -> None:
        """Let time pass, in the arguments of timedelta; what Redis keeps for a time ages too."""
        passed = timedelta(**by)
        self.clock.set(self.clock.now() + passed)
        with self.redis.client() as client:
            client.eval(_AGE_KEYS, 0, passed // timedelta(milliseconds=1))
        # The tokens of administrators have aged too.
        self.administration.tokens.clear()

    def keep_house(self) -> None:
        """Replace the workers; the new ones begin by deleting what has expired."""
        gateway, before = self.administration.gateway, set(self.administration.gateway.workers())
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: set(gateway.workers()) - before, "no new worker")
        until(lambda: not set(gateway.workers()) & before, "the old worker has not ended")


@pytest.fixture(scope="session")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Timed]:
    """Run one gateway for all tests in which time passes."""
    folder = tmp_path_factory.mktemp("timed")
    (folder / "realms.json").write_text(json.dumps([master()]))
    clock = SharedClock.create(folder / "clock", _BEGIN)
    with (
        running(RedisServer()) as redis,
        start_gateway(
            folder,
            import_realm=folder / "realms.json",
            public_url="https://gateway.test",
            admin_password=ADMIN_PASSWORD,
            redis_url=redis.url.reveal(),
            workers=1,
            mail_networks="127.0.0.0/8",
            prepare=partial(replace_clocks, folder / "clock"),
        ) as gateway,
        gateway.client(**{"X-Forwarded-For": "203.0.113.9"}) as http,
    ):
        yield Timed(Administration(gateway, http), clock, redis)
