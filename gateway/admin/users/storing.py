"""Storing new users, the one place where users are added."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.domain.ports.storage import Stores
from gateway.domain.users import Credential, User


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user with its hashed credentials, and the ids of the roles and groups that it gets."""

    user: User
    credentials: tuple[Credential, ...] = field(default=(), repr=False)
    role_ids: tuple[str, ...] = ()
    group_ids: tuple[str, ...] = ()
    path: str = ""
    """Its place in a file, for errors."""


async def store_new_user(stores: Stores, new: NewUser) -> None:
    """Store one user; raises AlreadyExists."""
    await stores.users.add(new.user)
    for credential in new.credentials:
        await stores.users.set_credential(new.user.realm_id, credential)
    await _grant_and_join(stores, [new])


async def store_new_users(stores: Stores, users: Sequence[NewUser]) -> None:
    """Store any number of users of one realm with four statements; raises AlreadyExists."""
    held = [credential for new in users for credential in new.credentials]
    await stores.users.add_all([new.user for new in users], held)
    await _grant_and_join(stores, users)


async def _grant_and_join(stores: Stores, users: Sequence[NewUser]) -> None:
    realm_id = users[0].user.realm_id
    grants = [(new.user.id, role) for new in users for role in new.role_ids]
    await stores.roles.grant_all(realm_id, grants)
    members = [(new.user.id, group) for new in users for group in new.group_ids]
    await stores.groups.join_all(realm_id, members)
