"""Preconditions of a worker: schema, realms, administrator.

Redis may be unavailable: other gateways then read the change from the change log.
"""

import asyncio

import structlog

from gateway.admin.realm_files import load_realm_files
from gateway.admin.realms import ensure_administrator, ensure_defaults
from gateway.bootstrap.administration import realm_import
from gateway.bootstrap.applications import find_tracer
from gateway.bootstrap.client_certificates import read_client_certificates
from gateway.bootstrap.encryption_keys import check_encryption_keys
from gateway.bootstrap.services import Services, open_services
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, StoreUnavailable
from gateway.http.pages.theme_check import check_themes
from gateway.listeners import check_events_file
from gateway.mail import load_mail_themes
from gateway.settings import Settings, environment_variables
from gateway.storage.redis.connection import check_server, create_client
from gateway.storage.sql.migrate import migrate
from gateway.supervisor.housekeeping import report_look_alikes, warn_at_start

_CONFLICTS = 3
"""Each step of `_create_missing` can lose once to a gateway that starts at the same time."""


def prepare(settings: Settings) -> None:
    """Bring the stores into the state that workers expect. Raises RealmgateError."""
    asyncio.run(_prepare(settings))


async def _prepare(settings: Settings) -> None:
    log = structlog.get_logger()
    async with open_services(settings) as services:
        read_client_certificates(settings)
        if services.rules_file is not None:
            services.rules_file.load()
        find_tracer(settings)
        check_themes(settings.themes)
        load_mail_themes(settings.themes)
        _check_events_file(settings)
        if settings.client_ca_file is None:
            log.warning("only anchors of realms are trusted: REALMGATE_CLIENT_CA_FILE is not set")
        await _check_redis(settings)
        if await migrate(settings.database_url):
            log.info("the database was brought to this version's schema")
        await check_encryption_keys(services.database, settings)
        for _ in range(_CONFLICTS):
            try:
                await _create_missing(settings, services)
                break
            except AlreadyExists as conflict:
                log.info("created by another gateway", reason=str(conflict))
        else:
            await _create_missing(settings, services)
        await report_look_alikes(services.database)
        await warn_at_start(services.database, services.one_time_marks, services.clock)


def _check_events_file(settings: Settings) -> None:
    path = settings.events_file
    if path is None:
        return
    try:
        check_events_file(path)
    except OSError as failure:
        allowed = f"a file that can be written ({failure.strerror})"
        raise InvalidInput((FieldError("REALMGATE_EVENTS_FILE", str(path), allowed),)) from failure


async def _create_missing(settings: Settings, services: Services) -> None:
    """Create the realms, default clients, roles and the administrator that do not exist.

    Safe to repeat. Raises AlreadyExists if another gateway commits one of them in between.
    """
    await _import(settings, services)
    for realm in await ensure_defaults(services.database):
        structlog.get_logger().info("default clients and roles added", realm=realm.name)
    await _administrator(settings, services)


async def _check_redis(settings: Settings) -> None:
    if settings.redis_url is None:
        return
    client = create_client(settings.redis_url)
    try:
        for warning in await check_server(client):
            structlog.get_logger().warning(warning)
    except StoreUnavailable:
        structlog.get_logger().warning("redis does not answer; starting without it")
    finally:
        await client.aclose()


async def _import(settings: Settings, services: Services) -> None:
    """Import the realms that do not exist; existing realms are not changed."""
    files = load_realm_files(settings.import_realm, environment_variables())
    if not files:
        return
    log = structlog.get_logger()
    for imported in await realm_import(services, settings.themes).run(files, skip_existing=True):
        log.info("realm exists" if imported.skipped else "realm imported", realm=imported.name)
        for finding in imported.report:
            log.warning(
                "part of a realm file",
                realm=imported.name,
                became=finding.kind.value,
                member=finding.member,
                names=finding.names,
                count=finding.count,
                reason=finding.sentence,
            )


async def _administrator(settings: Settings, services: Services) -> None:
    if settings.admin_password is None:
        return
    if await ensure_administrator(
        database=services.database,
        keys=services.keys,
        passwords=services.passwords,
        clock=services.clock,
        username=settings.admin,
        password=settings.admin_password,
        blacklists=services.blacklists,
    ):
        structlog.get_logger().info("administrator created", user=settings.admin, realm="master")
