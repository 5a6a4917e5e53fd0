"""A group that two change at the same time, on two gateways, keeps both changes: both databases."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from gateway.admin.access.rights import operator
from gateway.admin.changes import Changes
from gateway.admin.groups import GroupAdministration
from gateway.domain.realm import Realm
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.realm_imports import Messages
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, group, store_realms


async def test_a_default_group_keeps_concurrent_changes(
    database: SqlDatabase, other_gateway: SqlDatabase, somebody_waits: Callable[[], bool]
) -> None:
    await store_realms(database, "demo")
    staff = group("staff", attributes={"team": ("red",)})
    async with database.write() as stores:
        await stores.groups.add(staff)
    default_groups = GroupAdministration(Changes(other_gateway, SetClock(NOW), Messages()))
    async with database.write() as stores:
        await stores.groups.replace(replace(staff, attributes={"team": ("blue",)}))
        acting = operator(Realm(id="demo-id", name="demo"))
        joining = asyncio.create_task(default_groups.add_default_group(acting, staff.id))
        await eventually(lambda: somebody_waits() or joining.done())
    await joining
    async with database.read() as stores:
        stored = await stores.group_catalogue.find_group("demo-id", staff.id)
    assert stored is not None
    assert (stored.attributes, stored.is_default) == ({"team": ("blue",)}, True)
