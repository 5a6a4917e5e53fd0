"""What is allowed of registrations is taken away for good, whoever registers meanwhile."""

import asyncio
from collections.abc import Callable

from gateway.admin.access.rights import operator
from gateway.admin.changes import Changes
from gateway.admin.registration.tokens import (
    RegistrationTokenAdministration,
    RegistrationTokens,
    use_up,
)
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.ports.storage import DocumentKind
from gateway.domain.realm import Realm
from gateway.representations.registration_policies import InitialAccess, stored_initial_access
from gateway.storage.cache import RealmCache
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.realm_imports import Messages
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, store_realms

KIND = DocumentKind.CLIENT_INITIAL_ACCESS


async def test_a_concurrent_registration_does_not_restore_a_token(
    database: SqlDatabase,
    other_gateway: SqlDatabase,
    somebody_waits: Callable[[], bool],
    key_factory: PyJwtKeyFactory,
) -> None:
    """The removal waits: between looking and writing nobody else changes what is allowed."""
    await store_realms(database, "demo")
    access = InitialAccess("some", int(NOW.timestamp()), 0, 5, 5)
    async with database.write() as stores:
        await stores.documents.put_document(
            "demo-id", KIND, access.id, stored_initial_access(access)
        )
    clock, messages = SetClock(NOW), Messages()
    directory = RealmCache(other_gateway.lookups, key_factory, clock, messages)
    accesses = RegistrationTokenAdministration(
        Changes(other_gateway, clock, messages),
        RegistrationTokens(directory, lambda name: f"https://gateway.test/realms/{name}"),
    )
    acting = operator(Realm(id="demo-id", name="demo"))
    async with Changes(database, clock, messages).begin(acting, alone=True) as change:
        removing = asyncio.create_task(accesses.remove_access(acting, access.id))
        await eventually(lambda: somebody_waits() or removing.done())
        assert not removing.done()
        assert await use_up(change, access.id)
    await removing
    async with database.read() as stores:
        assert await stores.documents.list_documents("demo-id", KIND) == {}
