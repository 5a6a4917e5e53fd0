"""Who may grant what: the rule of `gateway.admin.access.escalation`, on both databases."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from gateway.admin.access.escalation import (
    has_every_right,
    is_above,
    may_control_user,
    require_changeable_clients,
    require_changeable_role,
    require_control_of_request,
    require_may_compose,
    require_may_control,
    require_may_control_subtree,
    require_may_grant,
    require_may_lift_scope,
    require_may_put_in_scope,
    require_rights_of_realm_accounts,
    roles_out_of_reach,
)
from gateway.admin.access.rights import (
    REALM_ADMIN,
    Acting,
    AdminRole,
    ControlledObject,
    ObjectKind,
    Rights,
    operator,
)
from gateway.admin.changes import Changes
from gateway.admin.realms.defaults import ensure_administration, ensure_realm_defaults
from gateway.domain.callers import Caller
from gateway.domain.clock import SystemClock
from gateway.domain.refusals import Forbidden, MissingRights
from gateway.domain.roles import EffectiveRoles, ListedRole
from gateway.storage.sql.database import SqlDatabase, SqlStores
from tests.support.realm_imports import Messages
from tests.support.stored_values import client, group, realm, role, user

DEMO, MASTER, OTHER = realm("demo"), realm("master"), realm("other")
FREE = {role for role in AdminRole if role.startswith("query-")}
GRANTS: dict[AdminRole, set[str]] = {
    AdminRole.MANAGE_AUTHORIZATION: {"view-authorization"},
    AdminRole.MANAGE_CLIENTS: {
        "create-client",
        "manage-authorization",
        "view-authorization",
        "view-clients",
    },
    AdminRole.MANAGE_EVENTS: {"view-events"},
    AdminRole.MANAGE_IDENTITY_PROVIDERS: {"view-identity-providers"},
    AdminRole.MANAGE_ORGANIZATIONS: {"view-organizations"},
    AdminRole.MANAGE_REALM: {"manage-organizations", "view-organizations", "view-realm"},
    AdminRole.MANAGE_USERS: {"view-users"},
    AdminRole.VIEW_CLIENTS: {"view-authorization"},
}
"""What Keycloak 26.7 lets the holder of one role grant beyond that role and the free ones."""


@pytest.fixture
async def realms(database: SqlDatabase) -> SqlDatabase:
    """Store realms with their built-in roles, and custom ones beside them."""
    async with database.write() as stores:
        for one in (DEMO, OTHER, MASTER):
            await stores.realms.add(one)
        for one in (DEMO, OTHER, MASTER):
            await ensure_realm_defaults(stores, one)
        for one in (DEMO, OTHER):
            await ensure_administration(stores, one)
        for of in ("demo", "master"):
            await stores.roles.add(role("plain", of=of))
            await stores.roles.add(role("wrapped", of=of))
            await stores.roles.add(role("wrapped-twice", of=of))
            await stores.roles.set_composites(f"{of}-id", "wrapped-twice-role", ["wrapped-role"])
            await stores.users.add(user("alice", of=of))
            for one_group in (group("staff", of=of), group("berlin", "/staff", of=of)):
                await stores.groups.add(one_group)
    return database


def acting(*roles: str, held: EffectiveRoles | None = None) -> Acting:
    """Return somebody who has these roles over the realm `demo`."""
    rights = Rights(frozenset(AdminRole(role) for role in roles), held or EffectiveRoles())
    return Acting(None, DEMO, rights)


def in_master(*realm_roles: str, **clients: Iterable[str]) -> Acting:
    """Return somebody who has these roles in `master`, `a_realm` naming the client `a-realm`."""
    held = {name.replace("_", "-"): tuple(names) for name, names in clients.items()}
    over_master = frozenset(AdminRole(name) for name in held.get("master-realm", ()))
    return Acting(
        None, MASTER, Rights(over_master, EffectiveRoles(realm_roles, tuple(held.items())))
    )


async def ids(stores: SqlStores, of: str, client_id: str | None, *names: str) -> list[str]:
    """Return the ids of roles by name."""
    owner = None
    if client_id is not None:
        found = await stores.clients.find_by_client_id(f"{of}-id", client_id)
        assert found is not None
        owner = found.id
    roles = [await stores.role_catalogue.find_by_name(f"{of}-id", owner, name) for name in names]
    return [one.role.id for one in roles if one is not None]


async def may_grant(stores: SqlStores, who: Acting, role_ids: list[str]) -> bool:
    assert role_ids
    try:
        await require_may_grant(who, stores, role_ids)
    except Forbidden:
        return False
    return True


async def test_an_administrator_grants_what_its_own_role_lets_it_do(realms: SqlDatabase) -> None:
    names = (*AdminRole, REALM_ADMIN)
    contained = {"view-users": {"query-users", "query-groups"}}
    async with realms.read() as stores:
        role_ids = {name: await ids(stores, "demo", "realm-management", name) for name in names}
        may = {
            held: {name for name in names if await may_grant(stores, acting(held), role_ids[name])}
            for held in AdminRole
        }
    assert may == {
        held: {held} | FREE | GRANTS.get(held, set()) | contained.get(held, set())
        for held in AdminRole
    }


async def test_who_has_every_role_may_grant_the_one_that_contains_them(realms: SqlDatabase) -> None:
    async with realms.read() as stores:
        role_ids = await ids(stores, "demo", "realm-management", REALM_ADMIN)
        assert await may_grant(stores, acting(*AdminRole), role_ids)
        one_less = [name for name in AdminRole if name != "view-events"]
        assert not await may_grant(stores, acting(*one_less), role_ids)


async def test_what_a_role_contains_counts_however_deep(realms: SqlDatabase) -> None:
    async with realms.write() as stores:
        (manage_realm,) = await ids(stores, "demo", "realm-management", "manage-realm")
        await stores.roles.set_composites("demo-id", "wrapped-role", [manage_realm])
        for name in ("wrapped-role", "wrapped-twice-role"):
            assert not await may_grant(stores, acting("manage-users"), [name])
            assert not await may_grant(stores, acting("manage-users"), ["plain-role", name])
            assert await may_grant(stores, acting("manage-users", "manage-realm"), [name])
        assert await may_grant(stores, acting("manage-users"), ["plain-role"])
        reach = await roles_out_of_reach(acting("manage-users"), stores)
        assert {"wrapped-role", "wrapped-twice-role", manage_realm} <= reach
        assert "plain-role" not in reach


async def test_roles_of_that_name_elsewhere_are_free(realms: SqlDatabase) -> None:
    """Rights come from one client alone: a role of the realm called like one brings none."""
    async with realms.write() as stores:
        await stores.clients.add(client("device"))
        await stores.clients.add(client("x-realm"))
        await stores.roles.add(role("manage-realm"))
        await stores.roles.add(role("admin"))
        await stores.roles.add(role("realm-admin", client="device-uuid"))
        await stores.roles.add(role("manage-users", client="x-realm-uuid"))
        names = ("manage-realm", "admin", "realm-admin", "manage-users")
        assert await may_grant(stores, acting("query-users"), [f"{name}-role" for name in names])


async def test_roles_out_of_reach_are_those_that_may_not_be_granted(
    realms: SqlDatabase,
) -> None:
    async with realms.read() as stores:
        for who in (acting("manage-users"), acting("manage-clients", "view-events"), acting()):
            reach = await roles_out_of_reach(who, stores)
            for one in await stores.roles.list_roles("demo-id"):
                assert (one.id in reach) is not await may_grant(stores, who, [one.id]), one.name
        assert await roles_out_of_reach(acting(*AdminRole), stores) == frozenset()
        assert await roles_out_of_reach(operator(DEMO), stores) == frozenset()


async def test_in_master_a_realm_role_is_granted_by_its_holders(
    realms: SqlDatabase,
) -> None:
    async with realms.read() as stores:
        of_demo = await ids(stores, "master", "demo-realm", "manage-users")
        of_master = await ids(stores, "master", "master-realm", "manage-users", "view-users")
        local = in_master(master_realm=["manage-users"])
        assert await may_grant(stores, local, of_master)
        assert not await may_grant(stores, local, of_demo)
        assert not await may_grant(stores, in_master(other_realm=["manage-users"]), of_demo)
        assert await may_grant(stores, in_master(demo_realm=["manage-users"]), of_demo)
        assert not await may_grant(stores, in_master(demo_realm=["manage-users"]), of_master)


async def test_in_master_global_roles_are_granted_by_their_holders(
    realms: SqlDatabase,
) -> None:
    every = {f"{name}_realm": list(AdminRole) for name in ("demo", "other", "master")}
    async with realms.read() as stores:
        for name in ("admin", "create-realm"):
            role_ids = await ids(stores, "master", None, name)
            assert not await may_grant(stores, in_master(**every), role_ids)
            assert await may_grant(stores, in_master("admin", "create-realm", **every), role_ids)
        create = await ids(stores, "master", None, "create-realm")
        assert await may_grant(stores, in_master("create-realm"), create)
        admin = await ids(stores, "master", None, "admin")
        assert not await may_grant(stores, in_master("admin", "create-realm"), admin)
        reach = await roles_out_of_reach(in_master(master_realm=AdminRole), stores)
        assert {*create, *admin} <= reach


async def test_in_master_every_other_role_is_free(realms: SqlDatabase) -> None:
    who = in_master(master_realm=["manage-users"])
    async with realms.write() as stores:
        await stores.clients.add(client("device", of="master"))
        await stores.roles.add(role("admin", of="master", client="device-uuid"))
        free = ["plain-role", "wrapped-role", "admin-role"]
        assert await may_grant(stores, who, free)
        assert not await roles_out_of_reach(who, stores) & set(free)


async def test_a_user_is_controlled_by_holders_of_all_its_admin_roles(
    realms: SqlDatabase,
) -> None:
    alice = ControlledObject(ObjectKind.USER, "alice-uuid")
    async with realms.write() as stores:
        view_events = await ids(stores, "demo", "realm-management", "view-events")
        await stores.groups.grant("demo-id", "staff-group", view_events)
        await require_may_control(acting("manage-users"), stores, alice)
        await stores.groups.join("demo-id", "alice-uuid", "berlin-group")
        with pytest.raises(Forbidden):
            await require_may_control(acting("manage-users"), stores, alice)
        await require_may_control(acting("manage-users", "view-events"), stores, alice)
        await require_may_control(acting("manage-events"), stores, alice)
        await require_may_control(acting(*AdminRole), stores, alice)
        await require_may_control(operator(DEMO), stores, alice)


@pytest.mark.parametrize(
    "controlled",
    [
        ControlledObject(ObjectKind.USER, "alice-uuid"),
        ControlledObject(ObjectKind.CLIENT, "device-uuid"),
        ControlledObject(ObjectKind.GROUP, "berlin-group"),
        ControlledObject(ObjectKind.ROLE, "wrapped-twice-role"),
        ControlledObject(ObjectKind.ROLE, "wrapped", by_name=True),
        ControlledObject(ObjectKind.ROLE, "operate", by_name=True, client="device-uuid"),
    ],
)
async def test_an_object_is_controlled_by_holders_of_all_its_roles(
    realms: SqlDatabase, controlled: ControlledObject
) -> None:
    managing = [AdminRole.MANAGE_USERS, AdminRole.MANAGE_CLIENTS, AdminRole.MANAGE_REALM]
    low, high = (
        replace(acting(*roles), controls=(controlled,))
        for roles in (managing, [*managing, AdminRole.VIEW_EVENTS])
    )
    account = user("service-account-device", service_account_client="device-uuid")
    async with realms.write() as stores:
        await stores.clients.add(client("device"))
        await stores.users.add(account)
        await stores.roles.add(role("operate", client="device-uuid"))
        await require_may_control(low, stores, controlled)
        view_events = await ids(stores, "demo", "realm-management", "view-events")
        for composite in ("wrapped-role", "operate-role"):
            await stores.roles.set_composites("demo-id", composite, view_events)
        for holder in ("alice-uuid", account.id):
            await stores.roles.grant("demo-id", holder, view_events)
        await stores.groups.grant("demo-id", "staff-group", view_events)
        with pytest.raises(Forbidden):
            await require_may_control(low, stores, controlled)
        unknown = replace(controlled, id="unknown")
        with pytest.raises(Forbidden):
            await require_may_control(low, stores, unknown, controlled)
        await require_may_control(low, stores, unknown)
        await require_may_control(high, stores, controlled)
        assert not await may_control_user(low, stores, "alice-uuid")
        assert await may_control_user(high, stores, "alice-uuid")
    with pytest.raises(Forbidden):
        await require_control_of_request(low, realms)
    await require_control_of_request(replace(low, controls=()), realms)
    await require_control_of_request(high, realms)


async def test_a_group_is_controlled_with_all_groups_below_it(realms: SqlDatabase) -> None:
    low = acting("manage-users")
    async with realms.write() as stores:
        await stores.groups.add(group("other"))
        await require_may_control_subtree(low, stores, "staff-group")
        view_events = await ids(stores, "demo", "realm-management", "view-events")
        await stores.roles.set_composites("demo-id", "wrapped-role", view_events)
        await stores.groups.grant("demo-id", "berlin-group", ["wrapped-twice-role"])
        for one in ("staff-group", "berlin-group"):
            with pytest.raises(Forbidden):
                await require_may_control_subtree(low, stores, one)
            await require_may_control_subtree(acting("manage-events"), stores, one)
        await require_may_control_subtree(low, stores, "other-group")


def test_all_rights_are_all_realm_roles_and_admin_in_master() -> None:
    assert has_every_right(acting(*AdminRole))
    assert not has_every_right(acting("manage-realm", "manage-users"))
    assert has_every_right(in_master("admin"))
    assert not has_every_right(in_master("create-realm", master_realm=AdminRole))
    for of in (DEMO, MASTER):
        assert has_every_right(operator(of))


@pytest.mark.parametrize(
    ("limited", "lacking"),
    [
        (acting(*(role for role in AdminRole if role != "manage-events")), "needs manage-events"),
        (in_master("create-realm", master_realm=AdminRole), "needs admin"),
    ],
)
def test_rights_of_all_accounts_are_named_where_one_lacks(limited: Acting, lacking: str) -> None:
    with pytest.raises(MissingRights, match=lacking) as refusal:
        require_rights_of_realm_accounts(limited, "smtpServer")
    assert str(refusal.value).startswith("smtpServer")
    for complete in (acting(*AdminRole), in_master("admin"), operator(DEMO), operator(MASTER)):
        require_rights_of_realm_accounts(complete, "smtpServer")


def test_roles_are_above_a_caller_that_lacks_one_of_them() -> None:
    roles = EffectiveRoles(("plain",), (("realm-management", ("view-events", "view-users")),))
    assert is_above(acting("manage-users"), roles)
    assert not is_above(acting("manage-users", "manage-events"), roles)
    assert not is_above(operator(DEMO), roles)


async def test_a_caller_with_a_limited_scope_does_not_make_it_wider(realms: SqlDatabase) -> None:
    managing = acting("manage-clients")
    limited = replace(
        managing, caller=Caller(DEMO, user("alice"), client("device"), EffectiveRoles())
    )
    unlimited = replace(managing, caller=Caller(DEMO, user("alice"), client("device")))
    async with realms.read() as stores:
        events = await ids(stores, "demo", "realm-management", "view-events")
        clients = await ids(stores, "demo", "realm-management", "view-clients")
        await require_may_put_in_scope(limited, stores, clients)
        with pytest.raises(Forbidden):
            await require_may_put_in_scope(limited, stores, events)
        for who in (unlimited, operator(DEMO)):
            await require_may_put_in_scope(who, stores, events)
            require_may_lift_scope(who)
    with pytest.raises(Forbidden):
        require_may_lift_scope(limited)
    require_may_lift_scope(replace(acting(*AdminRole), caller=limited.caller))


async def test_composing_takes_the_right_to_manage_the_part(realms: SqlDatabase) -> None:
    async def may(who: Acting, stores: SqlStores, *parts: ListedRole | None) -> bool:
        try:
            await require_may_compose(who, stores, [part for part in parts if part is not None])
        except Forbidden:
            return False
        return True

    async with realms.read() as stores:
        find = stores.role_catalogue.find_by_name
        account = await stores.clients.find_by_client_id("demo-id", "account")
        management = await stores.clients.find_by_client_id("demo-id", "realm-management")
        assert account is not None
        assert management is not None
        plain = await find("demo-id", None, "plain")
        view = await find("demo-id", account.id, "view-profile")
        users = await find("demo-id", management.id, "manage-users")
        assert await may(acting("manage-realm"), stores, plain)
        assert not await may(acting("manage-clients"), stores, plain)
        assert await may(acting("manage-clients"), stores, view)
        assert not await may(acting("manage-realm"), stores, view)
        assert not await may(acting("manage-realm"), stores, plain, view)
        assert not await may(acting("manage-clients"), stores, users)
        assert await may(acting("manage-clients", "manage-users"), stores, users)
        assert await may(operator(DEMO), stores, plain, view, users)


@pytest.mark.parametrize(
    ("of", "client_id", "name", "changeable"),
    [
        (DEMO, "realm-management", "view-users", False),
        (DEMO, "realm-management", "new", False),
        (DEMO, "demo-realm", "view-users", True),
        (DEMO, "account", "view-users", True),
        (DEMO, None, "admin", True),
        (DEMO, None, "create-realm", True),
        (DEMO, None, "realm-admin", True),
        (MASTER, "demo-realm", "view-users", False),
        (MASTER, "of-a-realm-to-come-realm", "new", False),
        (MASTER, "realm-management", "manage-users", True),
        (MASTER, None, "admin", False),
        (MASTER, None, "create-realm", False),
        (MASTER, None, "plain", True),
    ],
)
def test_built_in_admin_roles_are_immutable_even_to_operators(
    of: object, client_id: str | None, name: str, *, changeable: bool
) -> None:
    assert of in (DEMO, MASTER)
    everything = EffectiveRoles(("admin", "create-realm"))
    who = Acting(None, MASTER if of == MASTER else DEMO, Rights(frozenset(AdminRole), everything))
    if changeable:
        require_changeable_role(who, client_id, name)
        return
    with pytest.raises(Forbidden):
        require_changeable_role(who, client_id, name)
    if client_id is not None:
        with pytest.raises(Forbidden):
            require_changeable_clients(who, "mine", client_id)
    with pytest.raises(Forbidden):
        require_changeable_role(operator(who.realm), client_id, name)


async def test_a_change_checks_rights_inside_its_transaction(
    realms: SqlDatabase,
) -> None:
    """The caller's rights were enough when the request came: a role was granted since."""
    changes = Changes(realms, SystemClock(), Messages())
    alice = ControlledObject(ObjectKind.USER, "alice-uuid")
    who = replace(acting("manage-users"), controls=(alice,))
    async with changes.begin(who):
        pass
    async with realms.write() as stores:
        view_events = await ids(stores, "demo", "realm-management", "view-events")
        await stores.roles.grant("demo-id", "alice-uuid", view_events)
    with pytest.raises(Forbidden):
        async with changes.begin(who):
            pytest.fail("the change began")


@pytest.mark.parametrize(
    ("controlled", "holder"),
    [
        (ControlledObject(ObjectKind.USER, "alice-uuid"), "alice-uuid"),
        (ControlledObject(ObjectKind.CLIENT, "device-uuid"), "service-account-device-uuid"),
    ],
    ids=["user", "client"],
)
async def test_a_change_waits_for_a_concurrent_grant_to_its_object(
    realms: SqlDatabase, controlled: ControlledObject, holder: str
) -> None:
    """Without the row lock it would read the rights from before the other transaction."""
    changes = Changes(realms, SystemClock(), Messages())
    account = user("service-account-device", service_account_client="device-uuid")
    async with realms.write() as stores:
        await stores.clients.add(client("device"))
        await stores.users.add(account)
    who = replace(acting("manage-users", "manage-clients"), controls=(controlled,))

    async def change() -> None:
        async with changes.begin(who):
            pass

    async with realms.write() as stores:
        rows = stores.users if controlled.kind is ObjectKind.USER else stores.clients
        assert await rows.get_for_update("demo-id", controlled.id) is not None
        view_events = await ids(stores, "demo", "realm-management", "view-events")
        await stores.roles.grant("demo-id", holder, view_events)
        waiting = asyncio.create_task(change())
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
    assert not done
    with pytest.raises(Forbidden):
        await waiting
