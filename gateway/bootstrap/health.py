"""The health checks and gauges of the services: stores, keys, clocks and revocation lists."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import structlog

from gateway.bootstrap.client_certificates import ClientCertificates
from gateway.bootstrap.services import Services
from gateway.crypto.revocation.realm_lists import RealmListStatus
from gateway.domain.clock import CLOCK_LEEWAY, LARGEST_SKEW
from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.keys import KeyStatus, RealmKey, SignatureAlgorithm, SigningAlgorithm
from gateway.domain.realm import MASTER
from gateway.http.management import Check, CheckFailed, Data
from gateway.observability.metrics import Gauge


def health_checks(services: Services, certificates: ClientCertificates) -> tuple[Check, ...]:
    """Return the parts of readiness; without SQL and keys nothing can be issued."""

    async def sql() -> Data:
        await services.database.ping()
        return {}

    async def redis() -> Data:
        await services.invalidation.ping()
        return {"subscribed": services.invalidation.connected}

    async def keys() -> Data:
        async with services.database.read() as stores:
            realm = await stores.realms.find_by_name(MASTER)
            found = () if realm is None else await stores.keys.list_keys(realm.id)
        default = None if realm is None else realm.default_signature_algorithm
        signing = sum(_signs(key, default, services.clock.now()) for key in found)
        if realm is not None and not signing:
            raise CheckFailed("the realm master has no key that signs: realmgate keys rotate")
        return {MASTER: signing}

    async def revocation() -> Data:
        if certificates.revocation is not None:
            await certificates.revocation.renew()
        now = services.clock.now()
        data = _revocation(certificates, now)
        for lists in (services.realm_revocation_lists, services.point_lists):
            for status in lists.statuses(now):
                if status.problem is not None:
                    raise CheckFailed(f"realm {status.realm}: {status.problem}")
        return data

    return (
        Check("sql", sql),
        Check("keys", keys),
        Check("redis", redis, decides=False),
        Check("redis-server", _RedisServerCheck(services)),
        Check("clock", _ClockCheck(services)),
        Check("revocation-lists", revocation, decides=False),
    )


class _ClockCheck:
    """Compares the clock of this gateway with those of the stores; logs when it begins to differ.

    A difference above `CLOCK_LEEWAY` is reported. Above `LARGEST_SKEW` the worker is not ready: it
    would reject the sessions of other gateways, and they its tokens.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._reported = False

    async def __call__(self) -> Data:
        services = self._services
        skews = await asyncio.gather(
            self._skew(services.invalidation.server_time), self._skew(services.database.server_time)
        )
        known = dict(zip(("redis", "sql"), skews, strict=True))
        data = {
            f"{store}_seconds": round(skew) for store, skew in known.items() if skew is not None
        }
        largest = timedelta(seconds=max(map(abs, data.values()), default=0))
        before, self._reported = self._reported, largest > CLOCK_LEEWAY
        if not self._reported:
            return data
        allowed = round(CLOCK_LEEWAY.total_seconds())
        reason = f"the clock of this gateway is {_text(data)}; allowed: {allowed} s"
        if not before:
            structlog.get_logger().error("clock differs", **data)
        raise CheckFailed(reason, decides=largest > LARGEST_SKEW)

    async def _skew(self, ask: Callable[[], Awaitable[datetime]]) -> float | None:
        """Return the seconds by which this clock is ahead of a store's; None without an answer."""
        clock = self._services.clock
        try:
            before = clock.now()
            theirs = await ask()
            ours = before + (clock.now() - before) / 2
        except StoreUnavailable:
            return None
        return (ours - theirs).total_seconds()


def _text(data: Mapping[str, int]) -> str:
    """Return the differences as text; negative seconds are behind the store."""
    names = {"redis_seconds": "Redis", "sql_seconds": "SQL"}
    return " and ".join(
        f"{abs(seconds)} s {'behind' if seconds < 0 else 'ahead of'} {names[name]}"
        for name, seconds in data.items()
    )


class _RedisServerCheck:
    """Checks that Redis does not evict keys; logs when it begins to.

    The start refuses such a server, but it may be replaced or reconfigured later. Lost lock-outs
    and codes would go unnoticed, so the worker is not ready then.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._refused = False

    async def __call__(self) -> Data:
        before, self._refused = self._refused, False
        try:
            await self._services.invalidation.check_server()
        except StoreUnavailable:
            self._refused = before
            return {"known": False}
        except InvalidInput as failure:
            self._refused = True
            if not before:
                structlog.get_logger().error("redis is not suitable", reason=str(failure))
            raise
        return {}


def _signs(key: RealmKey, default: SigningAlgorithm | None, now: datetime) -> bool:
    """Return whether the key signs for clients: refresh tokens alone take an HMAC key too."""
    usable = key.status is KeyStatus.ACTIVE and key.active_from <= now
    return usable and (isinstance(key.algorithm, SignatureAlgorithm) or key.algorithm is default)


def _revocation(certificates: ClientCertificates, now: datetime) -> Data:
    if certificates.revocation is None:
        return {"configured": False}
    status = certificates.revocation.status(now)
    if status.problem is not None:
        raise CheckFailed(status.problem)
    return {
        "age_seconds": round(status.age.total_seconds()) if status.age else 0,
        "expires": status.next_update.isoformat() if status.next_update else "",
    }


def read_gauges(services: Services, certificates: ClientCertificates) -> Iterator[Gauge]:
    """Yield the gauges of a scrape."""
    now = services.clock.now()
    for authority in certificates.authorities:
        yield Gauge(
            "realmgate_client_authority_seconds_left",
            "Time until an authority of client certificates expires.",
            (authority.not_after - now).total_seconds(),
            (("subject", str(authority.subject)),),
        )
    if certificates.revocation is not None:
        status = certificates.revocation.status(now)
        if status.age is not None and status.next_update is not None:
            yield Gauge(
                "realmgate_revocation_list_age_seconds",
                "Age of the oldest revocation list.",
                status.age.total_seconds(),
            )
            yield Gauge(
                "realmgate_revocation_list_seconds_left",
                "Time until a revocation list is stale, and its authority's certificates refused.",
                (status.next_update - now).total_seconds(),
            )
    yield from _gauges_of_realm_lists(services, now)
    yield Gauge(
        "realmgate_event_journal_bytes",
        "What the files hold in which events wait for SQL.",
        float(services.events.size),
    )
    yield Gauge(
        "realmgate_redis_subscribed",
        "Whether messages of other gateways reach the worker that answers.",
        float(services.invalidation.connected),
    )


def _gauges_of_realm_lists(services: Services, now: datetime) -> Iterator[Gauge]:
    of_urls, of_points = services.realm_revocation_lists, services.point_lists
    yield from _gauges_of_lists("realm", "at the URLs of a realm", of_urls.statuses(now), now)
    yield from _gauges_of_lists(
        "point", "that certificates in a realm name", of_points.statuses(now), now
    )
    yield Gauge(
        "realmgate_point_revocation_list_bytes",
        "About what the revocation lists take in memory that certificates name.",
        float(of_points.size),
    )


def _gauges_of_lists(
    kind: str, where: str, statuses: Iterable[RealmListStatus], now: datetime
) -> Iterator[Gauge]:
    for status in statuses:
        if status.age is None or status.next_update is None:
            continue
        labels = (("realm", status.realm),)
        yield Gauge(
            f"realmgate_{kind}_revocation_list_age_seconds",
            f"Age of the oldest revocation list {where}.",
            status.age.total_seconds(),
            labels,
        )
        yield Gauge(
            f"realmgate_{kind}_revocation_list_seconds_left",
            f"Time until a revocation list {where} is stale.",
            (status.next_update - now).total_seconds(),
            labels,
        )
