"""Headers that only the proxy may set, sent by the caller. attacks: A2, A4, A20, B4.

Each has a value that the gateway refuses. Another answer than without the header proves that the
header reached the gateway.
"""

import itertools
from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.attacks.attack import Attack, Target
from gateway.cli.doctor.attacks.edge import Headers
from gateway.cli.doctor.findings import Finding

_UNREADABLE: Final = "realmgate-doctor"
_HEADERS: Final = (
    *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port"),
    *("X-Realmgate-Proxy-Secret", "X-Original-Request", "X-Request-Id"),
)
_REMEDY: Final = (
    "include realmgate/proxy-headers.conf, or realmgate/guard-server.conf, and no proxy_set_header"
    " in the same block; underscores_in_headers off"
)


def _run(target: Target) -> Iterator[Finding]:
    names = (target.gateway.certificate_header, *_HEADERS)
    for path, location in target.locations:
        usual = target.edge.ask(path)
        for name in names:
            arrived = [
                spelling
                for spelling, headers in _spellings(name)
                if target.edge.ask(path, headers=headers).status != usual.status
            ]
            if arrived:
                yield Finding(
                    f"{target.edge.url}: a caller's own {', '.join(arrived)} reaches the gateway at"
                    f" {path}",
                    _REMEDY,
                    target.place(location),
                )


def _spellings(name: str) -> Iterator[tuple[str, Headers]]:
    words = name.split("-")
    for separators in itertools.product("-_", repeat=len(words) - 1):
        spelled = "".join(itertools.chain(*zip(words, (*separators, ""), strict=True)))
        yield spelled, ((spelled, _UNREADABLE),)
    yield name.upper(), ((name.upper(), _UNREADABLE),)
    yield f"{name} twice", ((name, _UNREADABLE), (name, _UNREADABLE))


ATTACK = Attack(
    "forged-headers", "No header of the proxy can be set by a caller, in no spelling.", _run
)
