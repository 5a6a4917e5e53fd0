"""The roles of a realm by name: adding them with their composites, and the role of new users."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.storage import Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.roles import Role
from gateway.representations.refusals import describe, join
from gateway.representations.roles import RoleInput, RoleName

ADMIN: Final = "admin"
"""The role of the realm `master` that may do everything."""
CREATE_REALM: Final = "create-realm"


def default_role(realm: Realm) -> RoleName:
    """Return the role that every new user of the realm has."""
    return RoleName(realm.default_role_name)


class RoleIndex:
    """The roles of one realm by name, within one transaction."""

    changed = False
    """Whether anything was added."""

    def __init__(self, stores: Stores, realm: Realm, clients: Mapping[str, str]) -> None:
        """`clients` are the internal ids of the realm's clients by public name."""
        self._stores = stores
        self._realm = realm
        self._clients = clients
        self._roles: dict[RoleName, Role] = {}
        self._ids: set[str] = set()

    async def load_roles(self) -> None:
        names = {identity: client_id for client_id, identity in self._clients.items()}
        for role in await self._stores.roles.list_roles(self._realm.id):
            self._ids.add(role.id)
            client = names.get(role.client) if role.client else None
            if role.client is None or client is not None:
                self._roles[RoleName(role.name, client)] = role

    @property
    def role_names(self) -> frozenset[RoleName]:
        return frozenset(self._roles)

    def has_client(self, client: str | None) -> bool:
        """Return whether the realm has the client, by its public name; None for the realm."""
        return client is None or client in self._clients

    def role(self, name: RoleName) -> Role | None:
        return self._roles.get(name)

    def names_of(self, role_ids: Container[str]) -> tuple[RoleName, ...]:
        """Return the names of the roles with these ids, realm roles first."""
        found = [name for name, role in self._roles.items() if role.id in role_ids]
        return tuple(sorted(found, key=lambda name: (name.client or "", name.name)))

    async def add_roles(self, given: Iterable[RoleInput]) -> None:
        """Add the roles that are missing, and add to all of them their composites.

        A role keeps its id from the file where no other role has it.
        """
        roles = tuple(given)
        for role in roles:
            if role.role not in self._roles:
                self._roles[role.role] = await self._add_role(role)
        for role in roles:
            await self._compose(role)

    async def describe_roles(self, given: Iterable[RoleInput]) -> None:
        """Give existing roles the description and attributes, if they are given."""
        for role in given:
            before = self._roles[role.role]
            after = replace(
                before,
                description=role.description or before.description,
                attributes=role.attributes or before.attributes,
            )
            if after != before:
                await self._stores.role_catalogue.replace(after)
                self._roles[role.role] = after
                self.changed = True

    def ids(
        self, names: Iterable[RoleName], path: str, lists: tuple[str, str] = ("realm", "client")
    ) -> tuple[str, ...]:
        return tuple(role.id for role in self.named(names, path, lists))

    def named(
        self, names: Iterable[RoleName], path: str, lists: tuple[str, str] = ("realm", "client")
    ) -> tuple[Role, ...]:
        """Return the roles; raises InvalidInput naming the missing roles.

        `lists` names the two fields at `path` of realm and client roles.
        """
        wanted = tuple(names)
        realm_at, clients_at = (join(path, name) for name in lists)
        errors = tuple(
            FieldError(
                realm_at if name.client is None else join(clients_at, name.client),
                describe(name.name),
                "a role of the realm" if name.client is None else "a role of that client",
            )
            for name in wanted
            if name not in self._roles
        )
        if errors:
            raise InvalidInput(errors)
        return tuple(self._roles[name] for name in wanted)

    async def _add_role(self, given: RoleInput) -> Role:
        client = None if given.role.client is None else self._clients.get(given.role.client)
        if given.role.client is not None and client is None:
            shown = describe(given.role.client)
            raise InvalidInput((FieldError(given.path, shown, "a client of the realm"),))
        identity = str(uuid4()) if given.id is None or given.id in self._ids else given.id
        role = Role(
            id=identity,
            realm_id=self._realm.id,
            name=given.role.name,
            description=given.description,
            client=client,
            attributes=given.attributes,
        )
        await self._stores.roles.add(role)
        self._ids.add(role.id)
        self.changed = True
        return role

    async def _compose(self, given: RoleInput) -> None:
        role = self._roles[given.role]
        parts = role.composites | set(self.ids(given.composites, f"{given.path}.composites"))
        if parts != role.composites:
            new = sorted(parts - role.composites)
            await self._stores.roles.add_composites(self._realm.id, role.id, new)
            self._roles[given.role] = replace(role, composites=parts)
            self.changed = True


async def load_roles(stores: Stores, realm: Realm) -> RoleIndex:
    """Return the roles of the realm and of its clients."""
    roles = RoleIndex(stores, realm, await stores.clients.ids(realm.id))
    await roles.load_roles()
    return roles
