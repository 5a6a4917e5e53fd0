"""How often a login asks Redis: counted, not timed."""

from collections import Counter

from bench.context import Bench
from bench.figures import Figure, Gate, Result, at_most
from bench.load import lending_nginx
from bench.people import PEOPLE, refused_sign_in, sign_in
from bench.processes import BenchError
from bench.redis_monitor import Watched, watched
from bench.stack import stack

TITLE = "Redis calls of a password login"
HOW = (
    "Logins one after the other while MONITOR lists what the gateway asks of its redis-server. A"
    " call is a round trip: each waits for its answer. The guard's are those of its script; the"
    " rest keep the session. Calls by which gateways learn of each other's changes are left out."
)
_LOGINS = range(1, 41)
_GUARD = "login_failures"
_GATE = at_most(1, 1)
_BACKGROUND = {"ping", "publish", "subscribe", "client"}


def measure(bench: Bench) -> Result:
    """Count the calls of right and of wrong passwords."""
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        port = ports["a"]
        sign_in(port, PEOPLE, [1])
        refused_sign_in(port, PEOPLE, [max(_LOGINS) + 1])
        with watched(bench.people_site) as right:
            sign_in(port, PEOPLE, _LOGINS)
        with watched(bench.people_site) as wrong:
            refused_sign_in(port, PEOPLE, _LOGINS)
    return Result((*_figures("right password", right), *_figures("wrong password", wrong)), HOW)


def _figures(kind: str, seen: Watched) -> list[Figure]:
    calls = [call for call in seen.calls if call.command not in _BACKGROUND]
    logins = len(_LOGINS)
    operations = Counter(
        (call.script, call.arguments[2]) if call.script else ("", call.command) for call in calls
    )
    if not operations:
        raise BenchError(f"{kind}: redis-server was asked nothing")
    return [
        _counted(f"{kind}: calls of the guard", len(seen.of(_GUARD)), logins, _GATE),
        *(
            _counted(f"{kind}: {f'{script}, ' if script else ''}{name}", count, logins)
            for (script, name), count in sorted(operations.items())
        ),
        _counted(f"{kind}: all calls", len(calls), logins),
    ]


def _counted(name: str, calls: int, logins: int, gate: Gate | None = None) -> Figure:
    return Figure(name, calls / logins, "a login", gate)
