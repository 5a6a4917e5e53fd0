"""The gauges of what expires, from a survey that is repeated where metrics are asked for."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import structlog

from gateway.admin.expiry import ExpiryListing
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.expiry import WINDOWS, ExpirySummary
from gateway.domain.limits.single_flight import SingleFlight
from gateway.observability.metrics import MOST_REALMS, OTHER, Gauge

AGE: Final = timedelta(minutes=5)
"""After this a survey is repeated."""
_PAUSE: Final = timedelta(seconds=30)
"""After a failure."""
_LONGEST_WAIT: Final = timedelta(seconds=2)
"""For a survey, which otherwise goes on in the background: the gauges are then those before."""


class ExpiryGauges:
    """What one worker knows of what expires. Belongs to one event loop."""

    def __init__(self, listing: ExpiryListing, clock: Clock) -> None:
        self._listing = listing
        self._clock = clock
        self._summaries: tuple[ExpirySummary, ...] = ()
        self._due_at: datetime | None = None
        self._surveying: SingleFlight[str, None] = SingleFlight()

    async def renew(self) -> None:
        """Repeat the survey where it is old; without the database the former one stays."""
        now = self._clock.now()
        if self._due_at is None or not self._due_at - AGE <= now < self._due_at:
            task = self._surveying.start("", self._survey)
            await asyncio.wait((task,), timeout=_LONGEST_WAIT.total_seconds())

    def read(self) -> Iterator[Gauge]:
        """Yield the gauges as of now."""
        now = self._clock.now()
        for each in _bounded(self._summaries):
            labels = (("kind", each.kind.value), ("realm", each.realm or ""))
            yield Gauge(
                "realmgate_expiry_seconds_left",
                "Time until the first of a kind expires, below zero once it has.",
                (each.first - now).total_seconds(),
                labels,
            )
            for window, count in zip(WINDOWS, each.counts, strict=True):
                yield Gauge(
                    "realmgate_expiring",
                    "What is due to be renewed within a time; 0d has expired.",
                    float(count),
                    (*labels, ("within", window)),
                )

    async def _survey(self) -> None:
        now = self._clock.now()
        try:
            self._summaries = await self._listing.summarize()
            self._due_at = now + AGE
        except StoreUnavailable as failure:
            self._due_at = now + _PAUSE
            log = structlog.get_logger()
            log.warning("expiry gauges not renewed", store=failure.store)


def _bounded(summaries: Iterable[ExpirySummary]) -> Iterable[ExpirySummary]:
    """Return the summaries, those of realms beyond the first by name as one realm, `other`."""
    together: dict[tuple[str, str | None], ExpirySummary] = {}
    named = sorted({each.realm for each in summaries if each.realm is not None})
    shown = {None, *named[:MOST_REALMS]}
    for each in summaries:
        realm = each.realm if each.realm in shown else OTHER
        key = (each.kind.value, realm)
        before = together.get(key)
        together[key] = ExpirySummary(
            each.kind,
            realm,
            each.first if before is None else min(each.first, before.first),
            each.counts
            if before is None
            else tuple(map(sum, zip(each.counts, before.counts, strict=True))),
        )
    return together.values()
