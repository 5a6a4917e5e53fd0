"""What a gateway asks of its private redis-server, as that one tells by MONITOR."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path

from redis import Redis

from bench.stack import Site
from bench.workspace import ROOT
from gateway.storage.redis.connection import script_text

_END = "the end of what is watched"
_SCRIPTS = ROOT / "gateway" / "storage" / "redis"


@dataclass(frozen=True, slots=True)
class Call:
    """One command; `script` is the name of the Lua file that it runs, or empty."""

    command: str
    script: str
    arguments: tuple[str, ...]


@dataclass(slots=True)
class Watched:
    """The calls of a block; filled when it ends."""

    calls: list[Call] = field(default_factory=list)

    def of(self, script: str) -> list[Call]:
        """Return the calls that run a script."""
        return [call for call in self.calls if call.script == script]


@contextmanager
def watched(site: Site) -> Iterator[Watched]:
    """Watch the server of a running gateway; what scripts call inside it is left out."""
    names = _names()
    found = Watched()
    with (
        Redis(unix_socket_path=str(site.state / "run" / "redis.sock"), protocol=2) as client,
        client.monitor() as monitor,
    ):
        yield found
        client.echo(_END)
        while True:
            line = monitor.connection.read_response().decode("utf-8", "replace")
            call = _call(line, names)
            if call is None:
                continue
            if _END in call.arguments:
                return
            found.calls.append(call)


def _call(line: str, names: dict[str, str]) -> Call | None:
    """Read `1700000000.123456 [0 unix:/run/redis.sock] "evalsha" "..." "0" "reserve"`."""
    _, _, rest = line.partition(" [")
    origin, _, text = rest.partition("] ")
    if origin.endswith(" lua") or not text:
        return None
    command, *arguments = shlex.split(text)
    script = names.get(arguments[0], "another") if command.lower() == "evalsha" else ""
    return Call(command.lower(), script, tuple(arguments))


def _names() -> dict[str, str]:
    """Name the product's scripts by what Redis calls them."""
    return {
        sha1(script_text(file.stem).encode(), usedforsecurity=False).hexdigest(): file.stem
        for file in sorted(Path(_SCRIPTS).glob("*.lua"))
    }
