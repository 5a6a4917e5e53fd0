"""A protected path under a name that no site has, or under a port of its own name that none has.

Source: RFC 9112 §3.2
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.attacks.attack import Attack, Target
from gateway.cli.doctor.findings import Finding

_UNKNOWN: Final = ("realmgate-doctor.invalid", "127.0.0.1", "localhost:1")
_REMEDY: Final = "a server with default_server and return 421 on the same port"


def _run(target: Target) -> Iterator[Finding]:
    for path, location in target.locations:
        if target.edge.ask(path).allowed:
            continue  # open to everybody under its own name
        for host in (*_UNKNOWN, f"{target.edge.host}:1", f"{target.edge.host}."):
            if target.edge.ask(path, host=host).allowed:
                yield Finding(
                    f"{target.edge.url}: {path} is answered to a request for {host}",
                    _REMEDY,
                    target.place(location),
                )


ATTACK = Attack("unknown-host", "No protected path is answered under another name.", _run)
