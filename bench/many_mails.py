"""Fills the queue of mails by one statement for many rows, sealed as the product seals them."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

from bench.processes import BenchError
from gateway.bootstrap.services import open_services
from gateway.domain.mail import Mail, MailKind, QueuedMail
from gateway.domain.secrets import SecretsAtRest
from gateway.settings import load_settings
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.outgoing_queues import queued_row
from gateway.storage.sql.schema import mails

_CHUNK = 1_000


def fill_mails(environment: Mapping[str, str], realm: str, username: str, count: int) -> None:
    """Let as many mails to a user wait."""
    asyncio.run(_fill(environment, realm, username, count))


async def _fill(environment: Mapping[str, str], realm: str, username: str, count: int) -> None:
    settings = load_settings(environment=environment)
    async with open_services(settings) as services:
        database = SqlDatabase(settings.database_url, services.secrets)
        async with services.database.read() as stores:
            found = await stores.realms.find_by_name(realm)
            user = found and await stores.users.find_by_username(found.id, username)
        if found is None or user is None:
            raise BenchError(f"no user {username} in {realm}")
        for first in range(0, count, _CHUNK):
            await _add(
                database,
                services.secrets,
                found.id,
                user.id,
                range(first, min(first + _CHUNK, count)),
            )
        await database.dispose()


async def _add(
    database: SqlDatabase, secrets: SecretsAtRest, realm_id: str, user_id: str, numbers: range
) -> None:
    now = datetime.now(UTC)
    rows = [
        queued_row(
            QueuedMail(
                Mail(
                    id=f"mail-{number:07}",
                    realm_id=realm_id,
                    realm_title="Bench",
                    recipient=f"user-{number}@example.com",
                    locale="en",
                    kind=MailKind.TEST,
                    created_at=now,
                ),
                user_id,
            ),
            secrets,
        )
        for number in numbers
    ]
    async with database.write() as stores:
        await stores.transaction.insert_missing(mails, rows)
