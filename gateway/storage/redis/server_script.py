"""Lua scripts that use the clock of the Redis server.

A script reads the time from `microseconds()`, which its prologue defines. The prologue is part of
the script's text: no argument and no key can change the time. Tests construct a script whose
prologue returns a set time.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from redis.exceptions import NoScriptError

from gateway.storage.redis.connection import RedisClient, named_failures

SERVER_CLOCK: Final = """
local function microseconds()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
"""


class ServerScript:
    """The script `<name>.lua` of this folder in the server that `client` is connected to."""

    prologue: ClassVar = SERVER_CLOCK

    def __init__(self, client: RedisClient, name: str) -> None:
        self._client = client
        self._text = script_text(name, self.prologue)
        self._digest = hashlib.sha1(self._text.encode("ascii"), usedforsecurity=False).hexdigest()

    async def __call__(self, *arguments: str | int) -> Any:
        with named_failures():
            try:
                return await self._client.execute_command("EVALSHA", self._digest, 0, *arguments)
            except NoScriptError:
                return await self._client.execute_command("EVAL", self._text, 0, *arguments)


def script_text(name: str, prologue: str = SERVER_CLOCK) -> str:
    """Return the whole text of a script, whose digest Redis knows it by."""
    return prologue + _source("bounded_bytes") + _source(name)


def _source(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="ascii")


LoadScript = Callable[[RedisClient, str], ServerScript]
