"""A client comes with the roles of users that its tokens do not carry, on both databases."""

from typing import Any

import pytest

from gateway.domain.clients import EVERY_ADMINISTRATIVE_ROLE, AdministrativeReach
from gateway.domain.roles import EffectiveRoles
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, realm, role

_LISTS = ("default_client_scopes", "optional_client_scopes")
MANAGED = frozenset({"realm-management/manage-users"})
HELD = EffectiveRoles(
    ("admin", "inner", "outer", "plain"),
    (
        ("account", ("manage-account", "view-profile")),
        ("demo-realm", ("manage-users",)),
        ("realm-management", ("manage-users", "realm-admin")),
        ("service", ("use",)),
    ),
)


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    """Return a database with a composite of an administrative role in a realm and in `master`."""
    async with database.write() as stores:
        for name in ("demo", "master"):
            await stores.realms.add(realm(name))
            owner = "demo-realm" if name == "master" else "realm-management"
            clients = [client(owner, name), client("whole", name, reach=EVERY_ADMINISTRATIVE_ROLE)]
            clients += [client("none", name)]
            clients += [client("some", name, reach=AdministrativeReach(roles=MANAGED))]
            for one in clients:
                await stores.clients.add(one)
            part = role("manage-users", name, id=f"{name}-part", client=f"{owner}-uuid")
            for each in (part, *(role(one, name) for one in ("inner", "outer", "plain"))):
                await stores.roles.add(each)
            await stores.roles.set_composites(f"{name}-id", "inner-role", [part.id])
            await stores.roles.set_composites(f"{name}-id", "outer-role", ["inner-role"])
    return database


@pytest.mark.parametrize(
    ("of", "name", "realm_roles", "clients"),
    [
        ("demo", "none", ("admin", "plain"), ("account", "demo-realm", "service")),
        ("master", "none", ("plain",), ("account", "realm-management", "service")),
        (
            *("demo", "some", ("admin", "inner", "outer", "plain")),
            ("account", "demo-realm", "realm-management", "service"),
        ),
    ],
)
async def test_roles_and_composites_beyond_the_reach_are_withheld(
    stored: SqlDatabase, of: str, name: str, realm_roles: tuple[str, ...], clients: tuple[str, ...]
) -> None:
    found = await stored.lookups.client(f"{of}-id", name)
    assert found is not None
    assert found.value.withheld is not None
    carried = found.value.withheld.remove_from(HELD)
    assert carried.realm == realm_roles
    assert tuple(owner for owner, _ in carried.clients) == clients
    assert dict(carried.clients)["account"] == ("view-profile",)
    managed = dict(carried.clients).get("realm-management", ())
    assert managed == {"demo": ("manage-users",), "master": ("manage-users", "realm-admin")}[
        of
    ] or (name == "none" and of == "demo")


async def test_a_client_that_carries_everything_withholds_nothing(stored: SqlDatabase) -> None:
    for of in ("demo", "master"):
        found = await stored.lookups.client(f"{of}-id", "whole")
        assert found is not None
        assert found.value.withheld is None
        assert found.value.client.reach == EVERY_ADMINISTRATIVE_ROLE


async def test_clients_of_a_scope_are_found_where_they_carry_roles(stored: SqlDatabase) -> None:
    names = ('a "quoted" one%', "b_", "\N{LATIN SMALL LETTER E WITH ACUTE}", "plain")
    async with stored.write() as stores:
        for place, name in enumerate(names):
            fields: dict[str, Any] = {_LISTS[place % 2]: (name,)}
            for kind, reach in (("all", EVERY_ADMINISTRATIVE_ROLE), ("no", AdministrativeReach())):
                await stores.clients.add(client(f"{kind}-{place}", **fields, reach=reach))
        found = {
            name: [one.client_id for one in await stores.clients.using_scopes("demo-id", [name])]
            for name in (*names, "b", "a", "plai", "bx", "device")
        }
        assert await stores.clients.using_scopes("demo-id", []) == ()
    assert found == {
        **{name: [f"all-{place}"] for place, name in enumerate(names)},
        **{name: [] for name in ("b", "a", "plai", "bx", "device")},
    }


async def test_the_reach_of_a_client_is_stored(stored: SqlDatabase) -> None:
    async with stored.read() as stores:
        found = await stores.clients.find_by_client_id("demo-id", "some")
    assert found is not None
    assert found.reach == AdministrativeReach(roles=MANAGED)
