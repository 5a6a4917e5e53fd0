"""Users one by one, as an operator handles them from a shell.

Every change is told to the gateways (`user:<realm id>:<user id>`), so that it takes effect at once.
Keycloak: 7.2 (update, reset-password, role mappings, logout)
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from gateway.admin.access import find_realm, find_user, find_user_alone, load_roles
from gateway.admin.users.lockouts import Lockout, Lockouts
from gateway.admin.users.new_passwords import NewPasswords
from gateway.admin.users.password_changes import PasswordChanges, told_to_change, until_unchanged
from gateway.authentication import permanent_lockout
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.invalidation import Invalidation, client_topic, user_topic
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import Credential, User, UserQuery
from gateway.policies.candidate import NO_BLACKLISTS, PasswordBlacklists
from gateway.representations.roles import RoleName
from gateway.representations.users import PASSWORD, NewPassword, read_credentials

_NO_CREDENTIAL: Final = Credential("", "", PASSWORD, datetime.min.replace(tzinfo=UTC), "", "")


@dataclass(frozen=True, slots=True)
class ShownUser:
    """A user with what it may do and what is remembered of its failures.

    `lockout` is None where the counts could not be asked for, `password_expires_at` where there is
    no password or it does not expire.
    """

    user: User
    granted: tuple[RoleName, ...]
    effective: EffectiveRoles
    lockout: Lockout | None
    password_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RoleChange:
    """Roles to give to a user, and roles to take away."""

    add: tuple[RoleName, ...] = ()
    remove: tuple[RoleName, ...] = ()


class UserAdministration:
    """The use cases. A user is named by username, or by id. All raise RealmNotFound."""

    def __init__(
        self,
        *,
        database: Database,
        passwords: PasswordHasher,
        lockouts: Lockouts,
        clock: Clock,
        invalidation: Invalidation,
        blacklists: PasswordBlacklists = NO_BLACKLISTS,
    ) -> None:
        self._new_passwords = NewPasswords(clock, blacklists)
        self._database = database
        self._passwords = passwords
        self._lockouts = lockouts
        self._clock = clock
        self._invalidation = invalidation

    async def show(self, realm_name: str, name: str) -> ShownUser:
        """Return all about one user."""
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
            user = await find_user(stores, realm, name)
            held = await stores.roles.granted(realm.id, user.id)
            effective = await stores.roles.effective(realm.id, user.id)
            book = await load_roles(stores, realm)
            credentials = await stores.users.credentials(realm.id, user.id)
        try:
            lockout = await self._lockouts.of_user(realm, user.id)
        except StoreUnavailable as failure:
            if failure.store == "sql":
                raise
            lockout = None
        expires_at = password_expires_at(realm, credentials)
        return ShownUser(user, book.names_of(held), effective, lockout, expires_at)

    async def search(
        self, realm_name: str, query: UserQuery, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the users that match."""
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
            return await stores.users.search(realm.id, query, first, maximum)

    async def locked_out(self, realm_name: str) -> tuple[Lockout, ...]:
        """Return everybody who is locked out now, the soonest free first."""
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
        return await self._lockouts.list(realm)

    async def set_password(self, realm_name: str, name: str, password: NewPassword) -> User:
        """Give the user a new password; a temporary one must be changed at the next sign-in.

        Raises PasswordRefused where the password breaks a rule of the realm.
        """

        async def attempt() -> User:
            async with self._database.read() as stores:
                realm = await find_realm(stores, realm_name)
                before = await find_user(stores, realm, name)
                held = await stores.users.credentials(realm.id, before.id)
            changes = PasswordChanges(self._new_passwords, self._passwords)
            prepared = await changes.prepare(realm, before, held, password.password)

            async def change(stores: Stores, realm: Realm, user: User) -> User:
                await changes.store(stores, realm, user, prepared)
                return told_to_change(user, temporary=password.temporary)

            return await self._change(realm_name, before.id, change)

        return await until_unchanged(attempt)

    async def set_enabled(self, realm_name: str, name: str, *, enabled: bool) -> User:
        """Let the user sign in, or not; enabling ends every lock-out too."""

        async def change(_: Stores, __: Realm, user: User) -> User:
            attributes = permanent_lockout.without_reason(user) if enabled else user.attributes
            return replace(user, enabled=enabled, attributes=attributes)

        user = await self._change(realm_name, name, change)
        if enabled:
            await self.unlock(realm_name, user.id)
        return user

    async def unlock(self, realm_name: str, name: str) -> bool:
        """Let a user in whom the guard keeps out; tell whether there was anything to end."""
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
            user = await find_user(stores, realm, name)
        try:
            return await self._lockouts.unlock(realm, user)
        finally:
            with suppress(StoreUnavailable):
                await self._invalidation.publish(user_topics(user))

    async def change_roles(self, realm_name: str, name: str, roles: RoleChange) -> None:
        """Give and take roles; raises InvalidInput naming those that do not exist."""

        async def change(stores: Stores, realm: Realm, user: User) -> User:
            book = await load_roles(stores, realm)
            added = book.ids(roles.add, "add")
            removed = book.ids(roles.remove, "remove")
            await stores.roles.grant(realm.id, user.id, added)
            await stores.roles.revoke(realm.id, user.id, removed)
            return user

        await self._change(realm_name, name, change)

    async def _change(
        self,
        realm_name: str,
        name: str,
        change: Callable[[Stores, Realm, User], Awaitable[User]],
    ) -> User:
        async with self._database.write() as stores:
            realm = await find_realm(stores, realm_name)
            before = await find_user_alone(stores, realm, name)
            user = await change(stores, realm, before)
            if user != before:
                await stores.users.replace(user)
            await stores.change_log.record(user_topics(user))
        # What is stored stays stored, and gateways that a message does not reach read the log.
        with suppress(StoreUnavailable):
            await self._invalidation.publish(user_topics(user))
        return user


def password_expires_at(realm: Realm, credentials: Iterable[Credential]) -> datetime | None:
    """Return when the password among the credentials expires; None where it does not."""
    password = next((one for one in credentials if one.type == PASSWORD), None)
    return None if password is None else realm.password_policy.expires_at(password.created_at)


def new_password(text: str, *, temporary: bool = False) -> NewPassword:
    """Return the password to set; raises InvalidInput, which does not show it."""
    (read,) = read_credentials(
        [{"type": PASSWORD, "value": text, "temporary": temporary}],
        "credentials",
        owner="",
        standard=_NO_CREDENTIAL,
    )
    if isinstance(read, Credential):
        raise TypeError("what has a value is a new password")
    return read


def user_topics(user: User) -> tuple[str, ...]:
    """Return what is to be invalidated when the user changes."""
    topic = user_topic(user.realm_id, user.id)
    if user.service_account_client is None:
        return (topic,)
    return (topic, client_topic(user.realm_id, user.service_account_client))


def read_role_arguments(names: Iterable[str]) -> tuple[RoleName, ...]:
    """Return the roles that `role` and `client/role` name."""
    found = []
    for name in names:
        client, slash, role = name.rpartition("/")
        found.append(RoleName(role, client) if slash else RoleName(name))
    return tuple(found)
