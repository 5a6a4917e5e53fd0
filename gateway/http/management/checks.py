"""Whether a worker should be given requests, part by part.

Only what every answer needs decides: without SQL or the keys nothing can be issued. Redis and the
revocation list are reported beside it. A gateway without Redis goes on issuing and verifying
tokens, so taking all gateways out of service for it would turn a small outage into a whole one;
the same holds for a stale revocation list, which refuses certificates but no client secrets.
A Redis that answers and evicts is another matter: it would drop lock-outs in silence.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.domain.errors import RealmgateError

_LONGEST_CHECK = 1.0

Data = Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Check:
    """One part: `probe` raises when it is not in order, and returns what else is worth knowing.

    Where `decides` is False its failure is reported, and the worker stays ready.
    """

    name: str
    probe: Callable[[], Awaitable[Data]]
    decides: bool = True


class CheckFailed(RealmgateError):
    """A part is not in order; `str()` says why, for operators.

    Where `decides` is False the worker stays ready, whatever the check says.
    """

    def __init__(self, reason: str, *, decides: bool = True) -> None:
        super().__init__(reason)
        self.decides = decides


async def readiness(checks: Sequence[Check]) -> tuple[bool, dict[str, Any]]:
    """Run all checks at once; returns whether the worker is ready, and the report."""
    reports = await asyncio.gather(*(_report(check) for check in checks))
    ready = all(ready for ready, _ in reports)
    documents = [document for _, document in reports]
    return ready, {"status": "UP" if ready else "DOWN", "checks": documents}


async def _report(check: Check) -> tuple[bool, dict[str, Any]]:
    """Run one check; return whether the worker may be ready, and the report."""
    try:
        async with asyncio.timeout(_LONGEST_CHECK):
            data = await check.probe()
    except TimeoutError:
        return not check.decides, _down(check, "no answer within 1 s")
    except CheckFailed as failure:
        return not (check.decides and failure.decides), _down(check, str(failure))
    except (RealmgateError, OSError) as failure:
        return not check.decides, _down(check, str(failure))
    return True, {"name": check.name, "status": "UP", **({"data": dict(data)} if data else {})}


def _down(check: Check, reason: str) -> dict[str, Any]:
    return {"name": check.name, "status": "DOWN", "data": {"reason": reason}}
