"""What a session takes: bytes of Redis and of SQL, where there are very many."""

import asyncio
import base64
import json
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from bench.context import Bench
from bench.figures import Figure, Result
from bench.load import lending_nginx
from bench.people import PEOPLE, ROTATING_PEOPLE, import_people, refresh, sign_in
from bench.postgres import postgres
from bench.processes import BOTH_CORES, BenchError
from bench.redis_server import empty_redis
from bench.stack import Site, Start, stack

if TYPE_CHECKING:
    from bench.session_sizes import Rows
    from gateway.domain.sessions import UserSession

TITLE = "Bytes of a session"
HOW = (
    "A user signs in through the gateway; then there are as many sessions like that one, each of"
    " a user of its own and with one client. Online ones are written by the product's own store"
    " into an empty redis-server without append-only file (growth of used_memory, the lists by"
    " realm, user and client included); offline ones are copies of the product's rows in SQLite and"
    " PostgreSQL (growth of the database, indexes included), and a row more where refresh tokens"
    " rotate. The last session is read back by the product and must be as expected."
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A database with one offline session that the gateway has begun."""

    url: str
    rows: "Rows"
    session_id: str


def measure(bench: Bench) -> Result:
    """Fill the three stores side by side: nothing of it is timed."""
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    from bench import session_sizes  # noqa: PLC0415

    count, site = bench.plan.sessions, bench.people_site
    with ExitStack() as servers:
        server = servers.enter_context(
            empty_redis(bench.workspace.new_folder("empty-redis"), BOTH_CORES)
        )
        database = servers.enter_context(postgres(BOTH_CORES)).url("realmgate")
        online = _online_model(site)
        places = {"SQLite": _sqlite(bench, site), "PostgreSQL": _postgresql(site, database)}
        processes = servers.enter_context(ProcessPoolExecutor(3, get_context("spawn")))
        redis = processes.submit(session_sizes.bytes_in_redis, server.socket, online, count)
        filled = {
            name: processes.submit(session_sizes.bytes_in_sql, place.rows, place.session_id, count)
            for name, place in places.items()
        }
        figures = [Figure("sessions", count)]
        figures.append(Figure("Redis: an online session", redis.result(), "bytes"))
        for name, place in places.items():
            sizes, last = filled[name].result()
            asyncio.run(_check(site, place, last, count))
            figures += _figures(name, sizes)
    return Result(tuple(figures), HOW)


def _figures(name: str, sizes: dict[str, float]) -> tuple[Figure, ...]:
    family = sizes["refresh_families"]
    return (
        Figure(f"{name}: an offline session", sum(sizes.values()) - family, "bytes"),
        Figure(f"{name}: its family of rotating refresh tokens", family, "bytes"),
    )


def _online_model(site: Site) -> "UserSession":
    with stack(site) as target, lending_nginx({"a": target.https_port}, None) as ports:
        (answer,) = sign_in(ports["a"], PEOPLE, [1])
        return online_session(site, PEOPLE, answer["session_state"])


def session_of_cookies(cookies: str) -> str:
    """Return the id of the session that a browser's identity cookie names."""
    pairs = dict(cookie.split("=", 1) for cookie in cookies.split("; "))
    payload = pairs["KEYCLOAK_IDENTITY"].split(".")[1]
    claims: dict[str, str] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return claims["sid"]


def online_session(site: Site, realm: str, session_id: str) -> "UserSession":
    """Return a session of the running gateway as the product's store knows it."""
    return asyncio.run(_online(site, realm, session_id))


def _sqlite(bench: Bench, site: Site) -> _Place:
    from bench.session_sizes import SqliteRows  # noqa: PLC0415 - imports the product

    session_id = _begin_offline(site)
    file = bench.workspace.folder / "sessions.db"
    with (
        closing(sqlite3.connect(site.state / "realmgate.db")) as source,
        closing(sqlite3.connect(file)) as copy,
    ):
        source.backup(copy)
    return _Place(f"sqlite:///{file}", SqliteRows(file), session_id)


def _postgresql(site: Site, url: str) -> _Place:
    from bench.session_sizes import PostgresRows  # noqa: PLC0415 - imports the product

    import_people(site, ROTATING_PEOPLE, database_url=url)
    return _Place(url, PostgresRows(url), _begin_offline(site, database_url=url))


def _begin_offline(site: Site, **settings: object) -> str:
    """Begin an offline session and refresh it once; return its id."""
    with (
        stack(site, Start(settings=settings)) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        (answer,) = sign_in(ports["a"], ROTATING_PEOPLE, [1], scope="offline_access")
        refresh(ports["a"], ROTATING_PEOPLE, answer["refresh_token"])
        return answer["session_state"]


async def _online(site: Site, realm: str, session_id: str) -> "UserSession":
    from gateway.bootstrap import open_services  # noqa: PLC0415 - as above
    from gateway.settings import load_settings  # noqa: PLC0415

    settings = load_settings(environment=site.environment(), env_file=Path("/nonexistent"))
    async with open_services(settings) as services:
        found = await services.online_sessions.find_session(realm, session_id)
    if found is None:
        raise BenchError("the session that was begun is not there")
    return found


async def _check(site: Site, place: _Place, last: str, count: int) -> None:
    """See that the product knows the last session, and takes it for one like the first."""
    from bench.session_sizes import like  # noqa: PLC0415 - as above
    from gateway.bootstrap import open_services  # noqa: PLC0415
    from gateway.settings import load_settings  # noqa: PLC0415

    environment = site.environment(database_url=place.url)
    settings = load_settings(environment=environment, env_file=Path("/nonexistent"))
    async with open_services(settings) as services, services.database.read() as stores:
        first = await stores.offline_sessions.find_session(ROTATING_PEOPLE, place.session_id)
        found = await stores.offline_sessions.find_session(ROTATING_PEOPLE, last)
    if first is None or found is None or found != like(first, count - 1, last, found.user_id):
        raise BenchError(f"the last of the sessions is {found}, not like {first}")
