"""Whether a worker is ready for requests, by checks of its parts.

Only parts that every response needs decide: without SQL or the keys no token can be issued. Redis
and the revocation list are only reported. A gateway without Redis still issues and verifies tokens,
so taking all gateways out of service would turn a partial outage into a complete one; the same
holds for a stale revocation list, which rejects certificates but no client secrets. A Redis that
evicts keys is different: it would silently drop lockouts.
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
    """A check of one part: `probe` raises if it fails, and returns data for the report.

    Where `decides` is False, a failure is reported and the worker stays ready.
    """

    name: str
    probe: Callable[[], Awaitable[Data]]
    decides: bool = True


class CheckFailed(RealmgateError):
    """A check failed; `str()` says why, for operators.

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
    """Run one check; return whether the worker can be ready, and the report."""
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
