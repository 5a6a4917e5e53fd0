"""The two applications of a worker: the public one behind the proxy, and management."""

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import orjson
import structlog
from starlette.types import ASGIApp
from structlog.typing import FilteringBoundLogger

from gateway import __version__
from gateway.bootstrap.client_certificates import ClientCertificates, read_client_certificates
from gateway.bootstrap.health import health_checks, read_gauges
from gateway.bootstrap.services import Services
from gateway.crypto.keys import CryptographyClientKeys
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.tracing import Tracer
from gateway.http.application import build_http_application
from gateway.http.edge.certificate_lookup import LOOKUPS
from gateway.http.edge.facts import Edge
from gateway.http.edge.peer import ProxyTrust
from gateway.http.management.application import build_management_application
from gateway.http.management.lifecycle import ClosesWhileDraining, Lifecycle
from gateway.http.parts import HttpParts
from gateway.listeners import LISTENERS
from gateway.listeners.dispatch import Dispatch
from gateway.observability.metrics import PrometheusMetrics, exposition
from gateway.observability.tracing import CarriedTraces
from gateway.protocol.grants import GRANTS
from gateway.settings import Settings


@dataclass(frozen=True, slots=True)
class Applications:
    """What one worker serves."""

    public: ASGIApp
    management: ASGIApp


def build_applications(
    settings: Settings, services: Services, lifecycle: Lifecycle, metrics_directory: Path
) -> Applications:
    """Return the applications of one worker; raises InvalidInput for unusable files."""
    certificates = read_client_certificates(settings)
    parts = http_parts(settings, services, certificates)
    management = build_management_application(
        lifecycle,
        health_checks(services, certificates),
        partial(exposition, metrics_directory, partial(read_gauges, services, certificates)),
        partial(describe_admin_api, parts),
    )
    return Applications(ClosesWhileDraining(build_http_application(parts), lifecycle), management)


def describe_admin_api(parts: HttpParts) -> bytes:
    """Return the OpenAPI document of the admin API, as JSON text."""
    # As late as the admin API itself, see LateRoutes.
    from gateway.http.admin.openapi import openapi_document  # noqa: PLC0415
    from gateway.http.administration import admin_operations  # noqa: PLC0415

    document = openapi_document(admin_operations(parts), __version__)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def http_parts(
    settings: Settings, services: Services, certificates: ClientCertificates
) -> HttpParts:
    """Return what the public application is made of."""
    log: FilteringBoundLogger = structlog.get_logger()
    return HttpParts(
        directory=services.directory,
        database=services.database,
        invalidation=services.invalidation,
        online_sessions=services.online_sessions,
        passwords=services.passwords,
        blacklists=services.blacklists,
        keys=services.keys,
        client_keys=CryptographyClientKeys(),
        login_failures=services.login_failures,
        one_time_passwords=services.one_time_passwords,
        one_time_marks=services.one_time_marks,
        events=services.events,
        listeners=_listeners(log),
        clock=services.clock,
        edge=_edge(settings, certificates),
        certificates=certificates.trust,
        metrics=PrometheusMetrics(GRANTS),
        tracer=find_tracer(settings),
        log=log,
        public_url=settings.public_url,
        mtls_public_url=settings.mtls_public_url,
    )


def _listeners(log: FilteringBoundLogger) -> Dispatch:
    return Dispatch({name: make(log) for name, make in LISTENERS.items()}, log)


def find_tracer(settings: Settings) -> Tracer:
    """Return what records requests, or only carries their traces. Raises InvalidInput."""
    if not settings.tracing:
        return CarriedTraces()
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter.otlp") is None:
        allowed = "it to be off, or: pip install 'realmgate[tracing]'"
        raise InvalidInput((FieldError("REALMGATE_TRACING", "true", allowed),))
    from gateway.observability.opentelemetry import RecordedTraces  # noqa: PLC0415 - an extra

    return RecordedTraces()


def _edge(settings: Settings, certificates: ClientCertificates) -> Edge:
    return Edge(
        trust=ProxyTrust(settings.trusted_proxies, settings.proxy_secret),
        lookup=LOOKUPS[settings.certificate_lookup](settings.certificate_header),
        certificates=certificates.parser,
    )
