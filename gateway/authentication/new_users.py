"""Storing new users: the only place where users are added, and their roles, groups and actions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.authentication.unique_names import FreeNames
from gateway.domain.flows import RequiredAction, actions_in
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import Realm
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


async def store_new_user(stores: Stores, new: NewUser, names: FreeNames) -> None:
    """Store one user whose names are free; raises AlreadyExists."""
    names.require(new.user)
    await stores.users.add(new.user)
    for credential in new.credentials:
        await stores.users.set_credential(new.user.realm_id, credential)
    await _grant_and_join(stores, [new])


async def store_new_users(stores: Stores, users: Sequence[NewUser], names: FreeNames) -> None:
    """Store any number of users of one realm with four statements; raises AlreadyExists."""
    for new in users:
        names.require(new.user)
    held = [credential for new in users for credential in new.credentials]
    await stores.users.add_all([new.user for new in users], held)
    await _grant_and_join(stores, users)


async def _grant_and_join(stores: Stores, users: Sequence[NewUser]) -> None:
    realm_id = users[0].user.realm_id
    grants = [(new.user.id, role) for new in users for role in new.role_ids]
    await stores.roles.grant_all(realm_id, grants)
    members = [(new.user.id, group) for new in users for group in new.group_ids]
    await stores.groups.join_all(realm_id, members)


async def default_role_ids(stores: Stores, realm: Realm) -> tuple[str, ...]:
    """Return the ids of the roles that every new user of the realm has."""
    role = await stores.roles.find_realm_role(realm.id, realm.default_role_name)
    return () if role is None else (role.id,)


def expect_default_role(stores: Stores, realm: Realm) -> None:
    """Read the default role together with the next statement of the transaction."""
    stores.roles.expect_realm_role(realm.id, realm.default_role_name)


async def realm_actions(stores: Stores, realm_id: str) -> tuple[RequiredAction, ...]:
    """Return the required actions of a realm, in their order."""
    return actions_in(await stores.documents.list_documents(realm_id, DocumentKind.REQUIRED_ACTION))


def expect_actions(stores: Stores, realm_id: str) -> None:
    """Read the required actions together with the next statement of the transaction."""
    stores.documents.expect_documents(realm_id, DocumentKind.REQUIRED_ACTION)


async def default_actions(stores: Stores, realm_id: str) -> tuple[str, ...]:
    """Return the aliases of the required actions of new users, in their order."""
    actions = await realm_actions(stores, realm_id)
    return tuple(each.alias for each in actions if each.enabled and each.is_default)
