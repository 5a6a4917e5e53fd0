"""What must be in place before a worker answers: schema, realms, administrator.

Redis may be unavailable: other gateways then read the change from the change log.
"""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from gateway.admin.realm_files import load_realm_files
from gateway.admin.realms import (
    administrator_password_expires_at,
    ensure_administrator,
    ensure_defaults,
)
from gateway.bootstrap.applications import find_tracer
from gateway.bootstrap.client_certificates import read_client_certificates
from gateway.bootstrap.encryption_keys import check_encryption_keys
from gateway.bootstrap.realm_files import realm_import
from gateway.bootstrap.services import Services, open_services
from gateway.domain.errors import StoreUnavailable
from gateway.domain.realm import MASTER
from gateway.settings import Settings
from gateway.storage.redis.connection import check_server, create_client
from gateway.storage.sql.migrate import migrate

_WARNED_BEFORE: Final = timedelta(days=7)


def prepare(settings: Settings) -> None:
    """Bring the stores into the state that workers expect. Raises RealmgateError."""
    asyncio.run(_prepare(settings))


async def _prepare(settings: Settings) -> None:
    log = structlog.get_logger()
    async with open_services(settings) as services:
        read_client_certificates(settings)
        find_tracer(settings)
        if settings.client_ca_file is None:
            log.warning("no client certificate is trusted: REALMGATE_CLIENT_CA_FILE is not set")
        await _check_redis(settings)
        if await migrate(settings.database_url):
            log.info("the database was brought to this version's schema")
        await check_encryption_keys(services.database, settings)
        await _import(settings, services)
        for realm in await ensure_defaults(services.database):
            log.info("default clients and roles added", realm=realm.name)
        await _administrator(settings, services)
        await _warn_of_expiration(settings, services)


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
    """Import the realms that do not exist; what administrators changed since then stays."""
    files = load_realm_files(settings.import_realm)
    if not files:
        return
    log = structlog.get_logger()
    for imported in await realm_import(services).run(files, skip_existing=True):
        log.info("realm exists" if imported.skipped else "realm imported", realm=imported.name)
        for setting in imported.ineffective:
            log.warning(
                "setting without effect",
                realm=imported.name,
                setting=setting.path,
                value=setting.given,
                reason=setting.reason,
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
        structlog.get_logger().info("administrator made", user=settings.admin, realm="master")


async def _warn_of_expiration(settings: Settings, services: Services) -> None:
    """Warn where the administrator's password has expired or expires within a week."""
    async with services.database.read() as stores:
        expires_at = await administrator_password_expires_at(stores, settings.admin)
    now = services.clock.now()
    if expires_at is None or expires_at - now > _WARNED_BEFORE:
        return
    structlog.get_logger().warning(
        "administrator's password expires soon"
        if now <= expires_at
        else "administrator's password has expired",
        user=settings.admin,
        realm=MASTER,
        expires_at=expires_at.isoformat(timespec="seconds"),
        remedy=f"realmgate user set-password {settings.admin} --realm {MASTER}",
    )
