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
    """A part is not in order; `str()` says why, for operators."""


async def readiness(checks: Sequence[Check]) -> tuple[bool, dict[str, Any]]:
    """Run all checks at once; returns whether the worker is ready, and the report."""
    reports = await asyncio.gather(*(_report(check) for check in checks))
    ready = all(
        report["status"] == "UP"
        for check, report in zip(checks, reports, strict=True)
        if check.decides
    )
    return ready, {"status": "UP" if ready else "DOWN", "checks": list(reports)}


async def _report(check: Check) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_LONGEST_CHECK):
            data = await check.probe()
    except TimeoutError:
        return {"name": check.name, "status": "DOWN", "data": {"reason": "no answer within 1 s"}}
    except (RealmgateError, OSError) as failure:
        return {"name": check.name, "status": "DOWN", "data": {"reason": str(failure)}}
    return {"name": check.name, "status": "UP", **({"data": dict(data)} if data else {})}
