"""Many live sessions of browsers: bytes of each, and what a single sign-on costs among them."""

from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from statistics import median
from typing import TYPE_CHECKING

from bench.browser_client import Steps, browse
from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import lending_nginx
from bench.people import BROWSING_PEOPLE, import_people
from bench.processes import SERVER_CORES, processor_seconds
from bench.redis_server import RedisServer, empty_redis
from bench.rows.sessions import online_session, session_of_cookies
from bench.stack import Site, Stack, Start, stack

if TYPE_CHECKING:
    from gateway.domain.sessions import UserSession

TITLE = "Live sessions of browsers"
HOW = (
    "A user signs in with a browser; then there are as many sessions like that one, each of a user"
    " of its own, written by the product's own store into a redis-server without append-only file."
    " Bytes: growth of used_memory, the lists by realm, user and client included. For each number"
    " of sessions there is a gateway with its nginx; eight browsers do single sign-ons at it, in"
    " alternating rounds. Processor time is that of gateway and nginx, and of redis-server; the"
    " ratio is to the gateway with the fewest sessions, of the sum of all three."
)
_FEW, _SOME = 1_000, 100_000


@dataclass(slots=True)
class _Crowd:
    """A gateway among so many sessions; processor time of a single sign-on, in seconds."""

    sessions: int
    target: Stack
    server: RedisServer
    port: int
    cookies: list[str] = field(default_factory=list)
    gateway: list[float] = field(default_factory=list)
    redis: list[float] = field(default_factory=list)

    def round(self, seconds: float) -> None:
        """Do single sign-ons for some seconds."""
        gateway, redis = self._spent()
        seen = browse(self.port, BROWSING_PEOPLE, Steps.SINGLE_SIGN_ON, seconds, self.cookies)
        spent = self._spent()
        self.gateway.append((spent[0] - gateway) / seen.done)
        self.redis.append((spent[1] - redis) / seen.done)

    def _spent(self) -> tuple[float, float]:
        target = self.target
        own = target.gateway_seconds() + target.nginx_seconds()
        return own, processor_seconds(self.server.pid)


def measure(bench: Bench) -> Result:
    """Fill a server for each number of sessions, then measure in alternating rounds."""
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    from bench import session_sizes  # noqa: PLC0415

    plan, site = bench.plan, bench.people_site
    model = _browser_session(site)
    counts = sorted({_FEW, _SOME, plan.sessions})
    with ExitStack() as running:
        servers = {
            count: running.enter_context(
                empty_redis(bench.workspace.new_folder(f"live-{count}"), SERVER_CORES)
            )
            for count in counts
        }
        filling = running.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
        sizes = {
            count: filling.submit(
                session_sizes.bytes_in_redis, server.socket, model, count
            ).result()
            for count, server in servers.items()
        }
        crowds = [_crowd(bench, running, count, server) for count, server in servers.items()]
        for crowd in crowds:
            crowd.cookies = browse(
                crowd.port, BROWSING_PEOPLE, Steps.SIGN_IN, plan.warm_seconds
            ).found
        for _ in range(plan.rounds):
            for crowd in crowds:
                crowd.round(plan.seconds)
    bytes_each = Figure(f"{counts[-1]:,} sessions: each", sizes[counts[-1]], "bytes")
    return Result((bytes_each, *_figures(crowds)), HOW)


def _browser_session(site: Site) -> "UserSession":
    """Return the session of a user who has signed in with a browser."""
    with stack(site) as target, lending_nginx({"a": target.https_port}, None) as ports:
        cookies = browse(ports["a"], BROWSING_PEOPLE, Steps.SIGN_IN, 1).found[0]
        return online_session(site, BROWSING_PEOPLE, session_of_cookies(cookies))


def _crowd(bench: Bench, running: ExitStack, sessions: int, server: RedisServer) -> _Crowd:
    settings: dict[str, object] = {"redis_url": f"unix://{server.socket}"}
    site = bench.copy(f"live-sessions-{sessions}")
    import_people(site, BROWSING_PEOPLE)
    target = running.enter_context(stack(site, Start(settings=settings)))
    ports = running.enter_context(lending_nginx({"a": target.https_port}, None))
    return _Crowd(sessions, target, server, ports["a"])


def _figures(crowds: list[_Crowd]) -> list[Figure]:
    figures = []
    least = crowds[0]
    for crowd in crowds:
        name = f"single sign-on among {crowd.sessions:,} sessions"
        figures += [
            Figure(f"{name}: gateway and nginx", median(crowd.gateway) * 1e6, "us"),
            Figure(f"{name}: redis-server", median(crowd.redis) * 1e6, "us"),
        ]
        if crowd is not least:
            ratio = median(
                (own + redis) / (own_least + redis_least)
                for own, redis, own_least, redis_least in zip(
                    crowd.gateway, crowd.redis, least.gateway, least.redis, strict=True
                )
            )
            compared = f"cost among {crowd.sessions:,} sessions / among {least.sessions:,}"
            figures.append(Figure(compared, ratio, gate=at_most(1.1, 1.02)))
    return figures
