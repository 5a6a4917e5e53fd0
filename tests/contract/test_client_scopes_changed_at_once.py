"""A scope that is renamed while a client gets or loses it, on two gateways: both databases."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.admin.access.rights import operator
from gateway.admin.changes import Changes
from gateway.admin.clients.scopes import ScopeAdministration
from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.realm import Realm
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.realm_imports import Messages
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, client, store_realms


@pytest.mark.parametrize(
    ("given", "before", "after"), [(True, (), ("new",)), (False, ("old",), ())]
)
async def test_a_scope_goes_by_its_new_name(
    database: SqlDatabase,
    other_gateway: SqlDatabase,
    somebody_waits: Callable[[], bool],
    *,
    given: bool,
    before: tuple[str, ...],
    after: tuple[str, ...],
) -> None:
    await store_realms(database, "demo")
    scope = ClientScope(id="scope-id", realm_id="demo-id", name="old")
    device = client(default_client_scopes=before)
    async with database.write() as stores:
        await stores.client_scopes.add(scope.realm_id, scope)
        await stores.clients.add(device)
    assignment = ScopeAdministration(Changes(other_gateway, SetClock(NOW), Messages()))
    acting = operator(Realm(id="demo-id", name="demo"))
    change = assignment.assign_scope if given else assignment.unassign_scope
    async with Changes(database, SetClock(NOW), Messages()).begin(acting, alone=True) as renaming:
        changing = asyncio.create_task(change(acting, device.id, scope.id, RealmDefault.DEFAULT))
        await eventually(lambda: somebody_waits() or changing.done())
        await renaming.stores.client_scopes.put_value(scope.realm_id, replace(scope, name="new"))
        if before:
            renamed = replace(device, default_client_scopes=("new",))
            await renaming.stores.clients.replace(renamed)
    await changing
    async with database.read() as stores:
        stored = await stores.clients.find_by_id("demo-id", device.id)
    assert stored is not None
    assert stored.default_client_scopes == after
