"""Nobody grants above their own rights, nor takes over somebody who has more.

Administrative roles are those of `realm-management` in a realm; in `master`, `admin`,
`create-realm` and the roles of each `<realm>-realm`. They may be granted, by whatever way they
reach somebody, by those alone who act with all of them; passwords, credentials and secrets of who
holds them may be set by those alone, too. Other roles are free. Keycloak: 9
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gateway.admin.access import Acting
from gateway.admin.administration_roles import REALM_ADMIN, REALM_MANAGEMENT, AdminRole
from gateway.admin.errors import Forbidden
from gateway.admin.realm_roles import ADMIN, CREATE_REALM
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import MASTER
from gateway.domain.roles import EffectiveRoles

_OF_A_REALM: Final = "-realm"
_EVERYWHERE: Final = frozenset({ADMIN, CREATE_REALM})


async def require_may_grant(acting: Acting, stores: Stores, role_ids: Sequence[str]) -> None:
    """Raise Forbidden unless the caller acts with each administrative role among them.

    What they contain counts as well.
    """
    if role_ids and acting.rights.held is not None:
        _require(acting, await stores.roles.expanded(acting.realm.id, role_ids))


async def require_not_above(acting: Acting, stores: Stores, user_id: str) -> None:
    """Raise Forbidden where the user has an administrative role that the caller has not."""
    if acting.rights.held is not None:
        _require(acting, await stores.roles.effective(acting.realm.id, user_id))


async def require_may_join(acting: Acting, stores: Stores, group_ids: Iterable[str]) -> None:
    """Raise Forbidden where a group, or one above it, brings a role that the caller has not."""
    if acting.rights.held is None:
        return
    granted = await stores.groups.granted(acting.realm.id)
    parents = {group.id: group.parent for group in await stores.groups.list(acting.realm.id)}
    role_ids: set[str] = set()
    for group_id in group_ids:
        above: str | None = group_id
        while above is not None:
            role_ids |= granted.get(above, frozenset())
            above = parents.get(above)
    await require_may_grant(acting, stores, sorted(role_ids))


def _require(acting: Acting, wanted: EffectiveRoles) -> None:
    lacking = sorted(set(_administrative(acting, wanted)) - set(_held(acting)))
    if lacking:
        raise Forbidden(f"the caller does not have {', '.join(lacking)}")


def _administrative(acting: Acting, roles: EffectiveRoles) -> Iterator[str]:
    """Yield what a role is called here: its name, that of its client before it."""
    in_master = acting.realm.name == MASTER
    if in_master:
        yield from (name for name in roles.realm if name in _EVERYWHERE)
    for client, names in roles.clients:
        if client.endswith(_OF_A_REALM) if in_master else client == REALM_MANAGEMENT:
            yield from (f"{client}/{name}" for name in names)


def _held(acting: Acting) -> Iterator[str]:
    if acting.realm.name == MASTER:
        yield from _administrative(acting, acting.rights.held or EffectiveRoles())
        return
    yield from (f"{REALM_MANAGEMENT}/{role}" for role in acting.rights.roles)
    if acting.rights.roles == frozenset(AdminRole):
        yield f"{REALM_MANAGEMENT}/{REALM_ADMIN}"
