"""What health and metrics ask of the services: stores, keys and revocation lists."""

from collections.abc import Iterator
from datetime import datetime

from gateway.bootstrap.client_certificates import ClientCertificates
from gateway.bootstrap.services import Services
from gateway.domain.realm import MASTER
from gateway.http.management.checks import Check, CheckFailed, Data
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
            found = () if realm is None else await stores.keys.list(realm.id)
        return {"master": len(found)}

    async def revocation() -> Data:
        return _revocation(certificates, services.clock.now())

    return (
        Check("sql", sql),
        Check("keys", keys),
        Check("redis", redis, decides=False),
        Check("revocation-lists", revocation, decides=False),
    )


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
    """Return what is measured when Prometheus asks."""
    now = services.clock.now()
    for authority in certificates.authorities:
        yield Gauge(
            "realmgate_client_authority_seconds_left",
            "Time until an authority of client certificates expires.",
            (authority.not_after - now).total_seconds(),
            ("subject", str(authority.subject)),
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
    yield Gauge(
        "realmgate_redis_subscribed",
        "Whether messages of other gateways reach the worker that answers.",
        float(services.invalidation.connected),
    )
