"""Counters and timings for Prometheus, correct with several workers.

Workers write to files of one directory (prometheus_client's multiprocess mode), and any worker can
add them up. Labels are bounded: methods outside the list, unknown grant types, and realms beyond
the first 1,000 count as `other`.

The library reads PROMETHEUS_MULTIPROC_DIR when it is imported, so the caller sets it
(`gateway.settings.share_metrics`) before importing this module.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from gateway.domain.ports.observability import SECURITY_EVENTS, SecurityEvent

OTHER = "other"
MOST_REALMS = 1_000

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class PrometheusMetrics:
    """Implements `gateway.domain.ports.observability.Metrics`."""

    def __init__(self, grant_types: Iterable[str]) -> None:
        """Create the metrics in a registry of their own; `grant_types` are those with a label."""
        own = CollectorRegistry()
        self._grant_types = frozenset(grant_types)
        self._requests = Counter(
            "realmgate_requests", "Answered requests.", ("route", "method", "status"), registry=own
        )
        self._seconds = Histogram(
            "realmgate_request_seconds",
            "Time from a request's headers to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=own,
        )
        self._grants = Counter(
            "realmgate_token_grants",
            "Token requests by what came of them.",
            ("realm", "grant_type", "outcome"),
            registry=own,
        )
        self._events = Counter(
            "realmgate_security_events", "What an attack would cause.", ("kind",), registry=own
        )
        for kind in SECURITY_EVENTS:
            # rate() and increase() of Prometheus miss the first event of a series that is new.
            self._events.labels(kind)
        self._realms: set[str] = set()
        # Looking up a child by labels costs more than counting: cache the children.
        self._counted: dict[tuple[str, str, int], Counter] = {}
        self._timed: dict[str, Histogram] = {}
        self._granted: dict[tuple[str, str, str], Counter] = {}

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        key = (route, method if method in _METHODS else OTHER, status)
        counter = self._counted.get(key)
        if counter is None:
            counter = self._counted[key] = self._requests.labels(*key)
        counter.inc()
        histogram = self._timed.get(route)
        if histogram is None:
            histogram = self._timed[route] = self._seconds.labels(route)
        histogram.observe(seconds)

    def token_grant(self, realm: str, grant_type: str, outcome: str) -> None:
        grant = grant_type if grant_type in self._grant_types else OTHER
        if realm not in self._realms and len(self._realms) >= MOST_REALMS:
            realm = OTHER
        else:
            self._realms.add(realm)
        key = (realm, grant, outcome)
        counter = self._granted.get(key)
        if counter is None:
            counter = self._granted[key] = self._grants.labels(*key)
        counter.inc()

    def security_event(self, kind: SecurityEvent) -> None:
        self._events.labels(kind).inc()


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value read on request, such as the remaining time of a certificate."""

    name: str
    documentation: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    """Names and values; the names are the same in all gauges of one name."""


class _Gauges(Collector):
    def __init__(self, read: Callable[[], Iterable[Gauge]]) -> None:
        self._read = read

    def collect(self) -> Iterable[GaugeMetricFamily]:
        families: dict[str, GaugeMetricFamily] = {}
        for gauge in self._read():
            names = [name for name, _ in gauge.labels]
            family = families.setdefault(
                gauge.name, GaugeMetricFamily(gauge.name, gauge.documentation, labels=names)
            )
            family.add_metric([value for _, value in gauge.labels], gauge.value)
        return families.values()


def exposition(directory: Path, gauges: Callable[[], Iterable[Gauge]]) -> bytes:
    """Return the sum of all workers in Prometheus' text format."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))  # type: ignore[no-untyped-call] # the library
    registry.register(_Gauges(gauges))
    return generate_latest(registry)
