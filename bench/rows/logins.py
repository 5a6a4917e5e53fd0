"""Sign-ins by password through nginx, against the raw hash."""

from dataclasses import dataclass
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_least
from bench.hashing import hashing_limit
from bench.load import Load, drive, lending_nginx, middle
from bench.people import COSTLY_PEOPLE, PEOPLE, ROUNDS, SHIPPED_PEOPLE, login_requests
from bench.signing import Limit
from bench.stack import stack

TITLE = "Password logins, nginx and one worker on one core"
HOW = (
    "The password grant with right passwords through nginx: 500 users of a guarded realm one after"
    " the other over a few connections, without a client certificate, against raw PBKDF2-SHA256"
    " (PBKDF2HMAC of cryptography, one thread) on the same core, in alternating rounds; with 27,500"
    " rounds (the default of former versions of Keycloak), 210,000, and 600,000 as the reference"
    " configuration ships. A login also signs a token, begins a session and asks the guard."
    " Processor time is that of gateway, private redis-server and nginx."
)
_GATE = at_least(0.85, 0.95)
_CONNECTIONS = {PEOPLE: 8, COSTLY_PEOPLE: 4, SHIPPED_PEOPLE: 4}
"""Less than the gateway takes at once; a round leaves few hashes to the next."""


@dataclass(frozen=True, slots=True)
class _Round:
    limit: Limit
    load: Load


def measure(bench: Bench) -> Result:
    """Measure hashes and logins of each cost in alternating rounds."""
    plan = bench.plan
    rounds: dict[str, list[_Round]] = {realm: [] for realm in _CONNECTIONS}
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        requests = {
            realm: login_requests(realm, at_once) for realm, at_once in _CONNECTIONS.items()
        }
        for realm in rounds:
            drive(target, ports["a"], requests[realm], plan.warm_seconds)
        for _ in range(plan.rounds):
            for realm, seen in rounds.items():
                limit = hashing_limit(ROUNDS[realm], plan.seconds)
                seen.append(_Round(limit, drive(target, ports["a"], requests[realm], plan.seconds)))
    figures = [figure for realm, seen in rounds.items() for figure in _figures(realm, seen)]
    return Result(tuple(figures), HOW)


def _figures(realm: str, seen: list[_Round]) -> tuple[Figure, ...]:
    at = f"{ROUNDS[realm]:,} rounds"
    load = middle([one.load for one in seen])
    spent = median(one.limit.seconds / (one.load.gateway + one.load.nginx) for one in seen)
    return (
        Figure(f"{at}: hashes", median(one.limit.rate for one in seen), "/s"),
        Figure(f"{at}: logins", load.rate, "/s"),
        Figure(f"{at}: logins / hashes", _ratio(seen), gate=_GATE),
        Figure(f"{at}: processor time of a hash / of a login", spent),
        Figure(f"{at}: processor time of a login beside the hash", _beside(seen) * 1e6, "us"),
        Figure(f"{at}: of it nginx's", load.nginx * 1e6, "us"),
    )


def _ratio(seen: list[_Round]) -> float:
    return median(one.load.rate / one.limit.rate for one in seen)


def _beside(seen: list[_Round]) -> float:
    return median(one.load.gateway + one.load.nginx - one.limit.seconds for one in seen)
