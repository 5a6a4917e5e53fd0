"""The two applications of a worker: the public one behind the proxy, and management."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import orjson
import structlog
from starlette.routing import BaseRoute
from starlette.types import ASGIApp
from structlog.typing import FilteringBoundLogger

from gateway import __version__
from gateway.admin.expiry import ExpiryListing, ExpiryMails
from gateway.admin.registration import RegistrationTokens
from gateway.bootstrap.account_console import account_handlers, account_use_cases
from gateway.bootstrap.admin_api import admin_operations, registration_requests
from gateway.bootstrap.administration import client_use_cases
from gateway.bootstrap.client_certificates import (
    ClientCertificates,
    certificate_lookup,
    client_certificates,
    refusal_explainer,
    with_renewed_certificates,
)
from gateway.bootstrap.expiry import ExpiryGauges, expiry_listing
from gateway.bootstrap.forward_auth import SiteAnswers, service_tokens, site_answers, site_handlers
from gateway.bootstrap.health import health_checks, read_gauges
from gateway.bootstrap.protocol import (
    logout_handlers,
    own_pages,
    protocol_services,
    sign_in_handlers,
    site_pages,
)
from gateway.bootstrap.services import Services
from gateway.certificates import ObservedTrust
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.observability import Metrics, Tracer
from gateway.forward_auth.bearer_tokens import AudienceWarnings
from gateway.http.account_api import build_account_api_routes
from gateway.http.account_console import build_account_routes
from gateway.http.admin.authentication import AdminAuthentication
from gateway.http.admin.endpoint import AdminServices
from gateway.http.admin.openapi import openapi_document
from gateway.http.admin.operations import Operation
from gateway.http.admin.routing import build_admin_routes
from gateway.http.application import build_http_application
from gateway.http.certificate_refusal import RefusalPage, build_certificate_refusal_route
from gateway.http.edge import Edge, ProxyTrust
from gateway.http.forward_auth.sign_in import build_site_routes
from gateway.http.home import build_home_route
from gateway.http.logout import build_logout_routes, build_session_frame_routes
from gateway.http.management import Lifecycle, build_management_application
from gateway.http.oidc import build_routes
from gateway.http.pages import (
    AccountLinks,
    Designs,
    Pages,
    Resources,
    ResourceUrls,
    build_resource_routes,
    load_designs,
)
from gateway.http.realm_endpoint import RealmContext
from gateway.http.registration import build_registration_route
from gateway.http.sign_in.endpoints import build_sign_in_routes
from gateway.observability.metrics import PrometheusMetrics, exposition
from gateway.observability.tracing import CarriedTraces
from gateway.outgoing import HttpNoticeSender
from gateway.protocol.account_console import ConsoleClients
from gateway.protocol.events import EventRecording
from gateway.protocol.grants import GRANTS
from gateway.protocol.logout import NoticeDelivery
from gateway.settings import Settings
from gateway.storage.realm_texts import RealmTextCache


@dataclass(frozen=True, slots=True)
class Applications:
    """What one worker serves, the table of the admin API, and what sends notices and mails."""

    public: ASGIApp
    management: ASGIApp
    operations: tuple[Operation, ...]
    notices: NoticeDelivery
    expiry_mails: ExpiryMails


@dataclass(frozen=True, slots=True)
class _Appearance:
    """What pages look like, what shows those at the gateway's own URLs, and where they lead."""

    designs: Designs
    pages: Pages
    accounts: AccountLinks


def build_applications(
    settings: Settings, services: Services, lifecycle: Lifecycle, metrics_directory: Path
) -> Applications:
    """Return the applications of one worker; raises InvalidInput for unusable files."""
    certificates = client_certificates(settings, services)
    services = with_renewed_certificates(services, certificates)
    if services.rules_file is not None:
        services.rules_file.load()
    log: FilteringBoundLogger = structlog.get_logger()
    metrics = PrometheusMetrics(GRANTS)
    context = _realm_context(settings, services, certificates, metrics, log)
    designs = load_designs(settings.themes)
    texts = RealmTextCache(
        services.database, services.clock, services.invalidation, settings.cache_age
    )
    accounts = AccountLinks(ConsoleClients(services.directory), context.public_url)
    at_sites = site_answers(
        services, context, site_pages(designs, texts, accounts), settings.guard_passed_headers
    )
    pages = own_pages(designs, texts, accounts, context.public_url)
    appearance = _Appearance(designs, pages, accounts)
    expiry = expiry_listing(settings, services, certificates)
    routes, operations = _routes(
        *(services, context, metrics, appearance, at_sites),
        expiry=expiry,
        certificates=certificates,
    )
    public = build_http_application(
        routes,
        directory=services.directory,
        edge=_edge(settings, certificates),
        metrics=metrics,
        tracer=find_tracer(settings),
        log=log,
        decisions=at_sites.decisions,
        service_tokens=service_tokens(services, context),
        refusal_pages=at_sites.refusals,
        audience_warnings=AudienceWarnings(services.clock),
    )
    management = build_management_application(
        lifecycle,
        health_checks(services, certificates),
        _metrics(metrics_directory, services, certificates, ExpiryGauges(expiry, services.clock)),
        _openapi(operations),
    )
    notices = NoticeDelivery(
        services.database,
        services.directory,
        HttpNoticeSender(services.http_client),
        services.clock,
        context.issuer,
        encryption=services.client_encryption,
    )
    return Applications(
        public,
        management,
        operations,
        notices,
        ExpiryMails(services.database, expiry, services.clock),
    )


def _metrics(
    directory: Path, services: Services, certificates: ClientCertificates, expiry: ExpiryGauges
) -> Callable[[], Awaitable[bytes]]:
    async def metrics() -> bytes:
        await certificates.authorities.renew()
        await expiry.renew()
        return exposition(
            directory, lambda: chain(read_gauges(services, certificates), expiry.read())
        )

    return metrics


def _openapi(operations: Iterable[Operation]) -> Callable[[], Awaitable[bytes]]:
    async def openapi() -> bytes:
        return describe_admin_api(operations)

    return openapi


def describe_admin_api(operations: Iterable[Operation]) -> bytes:
    """Return the OpenAPI document of the admin API, as JSON text."""
    document = openapi_document(operations, __version__)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _realm_context(
    settings: Settings,
    services: Services,
    certificates: ClientCertificates,
    metrics: Metrics,
    log: FilteringBoundLogger,
) -> RealmContext:
    return RealmContext(
        directory=services.directory,
        clock=services.clock,
        certificates=ObservedTrust(
            certificates.trust(services.authorities), services.seen_certificates
        ),
        log=log,
        public_url=settings.public_url,
        mtls_public_url=settings.mtls_public_url,
        events=EventRecording(
            services.events, services.listeners, metrics, services.seen_certificates
        ),
    )


def _routes(
    services: Services,
    context: RealmContext,
    metrics: Metrics,
    appearance: _Appearance,
    at_sites: SiteAnswers,
    *,
    expiry: ExpiryListing,
    certificates: ClientCertificates,
) -> tuple[list[BaseRoute], tuple[Operation, ...]]:
    """Return every URL of the public application, and the table of the admin API."""
    database, designs = services.database, appearance.designs
    protocol = protocol_services(services, metrics, context.public_url, context.certificates)
    access_tokens = protocol.access_tokens
    tokens = RegistrationTokens(services.directory, context.issuer)
    administered = client_use_cases(services)
    registrations = registration_requests(
        services,
        tokens,
        access_tokens=access_tokens,
        constraint=protocol.constraint,
        authenticator=protocol.clients,
        clients=administered.administration,
    )
    operations = admin_operations(
        services,
        tokens,
        administered,
        context=context,
        sign_in_sessions=protocol.sessions,
        expiry=expiry,
        certificates=certificates,
        listeners=services.listeners.names,
        login_themes=designs.themes,
    )
    admin = AdminServices(
        context,
        AdminAuthentication(context, access_tokens, protocol.constraint, services.revocations),
        database,
    )
    pages = appearance.pages
    accounts = account_use_cases(services, access_tokens, protocol.sessions, protocol.constraint)
    sign_ins = sign_in_handlers(services, protocol, pages)
    routes = [
        # First: it says quickly that a URL is none of the admin API.
        build_admin_routes(operations, admin),
        *build_routes(context, protocol, metrics),
        build_registration_route(registrations, context),
        *build_sign_in_routes(sign_ins, context),
        *build_logout_routes(logout_handlers(services, protocol, pages), context),
        # The pages first: what names JSON is for the API behind them.
        *build_account_routes(account_handlers(services, protocol, accounts, pages), context),
        *build_account_api_routes(accounts, pages, context),
        *build_session_frame_routes(
            context, ResourceUrls.below(context.public_url, designs.version)
        ),
        *build_site_routes(site_handlers(services, context, protocol, at_sites), context),
        build_certificate_refusal_route(
            refusal_explainer(services, certificates), RefusalPage(designs, pages), context
        ),
        *build_resource_routes(Resources.of(designs), context),
        build_home_route(database, appearance.accounts, context),
    ]
    return routes, operations


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
        lookup=certificate_lookup(settings),
        certificates=certificates.parser,
    )
