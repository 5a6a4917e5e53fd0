"""Durable storage: repositories, and the transaction that holds them together.

Every query carries its realm: an id of another realm is not found. All methods raise
`StoreUnavailable("sql")` when the database does not answer.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from gateway.domain.clients import Client
from gateway.domain.groups import Group
from gateway.domain.keys import RealmKey
from gateway.domain.ports.lookups import Lookups
from gateway.domain.ports.sessions import SessionStore
from gateway.domain.realm import Realm
from gateway.domain.refresh_tokens import Rotation
from gateway.domain.roles import EffectiveRoles, Role
from gateway.domain.users import Credential, User, UserQuery


class RealmRepository(Protocol):
    """Realms by name and id. A realm is one JSON document with a few indexed columns."""

    async def find_by_name(self, name: str) -> Realm | None:
        """Return the realm named exactly `name`."""
        ...

    async def find_alone(self, name: str) -> Realm | None:
        """Return the same, and let nobody else change the realm until the transaction ends."""
        ...

    async def list(self) -> tuple[Realm, ...]:
        """Return every realm, by name."""
        ...

    async def add(self, realm: Realm) -> None:
        """Store a new realm; raises AlreadyExists."""
        ...

    async def replace(self, realm: Realm) -> None:
        """Overwrite the realm with the same id; raises AlreadyExists when its new name is taken."""
        ...


class ClientRepository(Protocol):
    """Clients of a realm."""

    async def find_by_client_id(self, realm_id: str, client_id: str) -> Client | None:
        """Return the client whose public name is exactly `client_id`."""
        ...

    async def named(self, realm_id: str, client_ids: Sequence[str]) -> tuple[Client, ...]:
        """Return those of the clients that exist."""
        ...

    async def list(self, realm_id: str) -> tuple[Client, ...]:
        """Return the realm's clients by client_id."""
        ...

    async def add(self, client: Client) -> None:
        """Store a new client, its secret sealed; raises AlreadyExists."""
        ...

    async def replace(self, client: Client) -> None:
        """Overwrite the client with the same id in the same realm."""
        ...


class UserRepository(Protocol):
    """Users and their credentials."""

    async def find_by_username(self, realm_id: str, username: str) -> User | None:
        """Return the user with that (lower-cased) username."""
        ...

    async def find_by_id(self, realm_id: str, user_id: str) -> User | None:
        """Return the user with that id, if it is one of this realm."""
        ...

    async def find_alone(self, realm_id: str, user_id: str) -> User | None:
        """Return the same, and let nobody else change the user until the transaction ends."""
        ...

    async def find_by_email(self, realm_id: str, email: str) -> User | None:
        """Return the first user with that (lower-cased) e-mail address."""
        ...

    async def search(
        self, realm_id: str, query: UserQuery, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the users that match, by username; service accounts left out."""
        ...

    async def count(self, realm_id: str, query: UserQuery) -> int:
        """Return how many users match."""
        ...

    async def known(self, realm_id: str, usernames: Sequence[str]) -> frozenset[str]:
        """Return which of the (lower-cased) usernames are taken."""
        ...

    async def find_service_account(self, realm_id: str, client: str) -> User | None:
        """Return the service-account user of the client with internal id `client`."""
        ...

    async def list(self, realm_id: str) -> tuple[User, ...]:
        """Return the realm's users, by username."""
        ...

    async def add(self, user: User) -> None:
        """Store a new user; raises AlreadyExists."""
        ...

    async def add_all(self, added: Sequence[User], held: Sequence[Credential]) -> None:
        """Store new users of one realm with the credentials they hold; raises AlreadyExists."""
        ...

    async def replace(self, user: User) -> None:
        """Overwrite the user with the same id in the same realm."""
        ...

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        """Return the user's credentials by priority."""
        ...

    async def having_credential(
        self, realm_id: str, user_ids: Sequence[str], type_: str
    ) -> frozenset[str]:
        """Return which of the users hold a credential of the type."""
        ...

    async def set_credential(self, realm_id: str, credential: Credential) -> None:
        """Add the credential, or overwrite the one with the same id."""
        ...

    async def remove_credential(self, realm_id: str, credential: Credential) -> None:
        """Forget the credential; one that is gone is gone."""
        ...

    async def exchange_credential(
        self, realm_id: str, before: Credential, after: Credential
    ) -> bool:
        """Overwrite the credential unless it has changed since; tell whether it was overwritten."""
        ...


class RoleRepository(Protocol):
    """Roles, composites and who has them."""

    async def list(self, realm_id: str) -> tuple[Role, ...]:
        """Return realm and client roles of the realm, by name."""
        ...

    async def add(self, role: Role) -> None:
        """Store a new role without its composites; raises AlreadyExists."""
        ...

    async def find(self, realm_id: str, name: str) -> Role | None:
        """Return the realm role with that name, its composites left out."""
        ...

    async def add_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Let a role contain others directly; those it contains already are left alone."""
        ...

    async def set_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Replace the direct composites of a role."""
        ...

    async def grant(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        """Give roles to a user; those already held are left alone."""
        ...

    async def grant_all(self, realm_id: str, grants: Sequence[tuple[str, str]]) -> None:
        """Give roles to many users, as pairs of user and role id."""
        ...

    async def revoke(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        """Take roles from a user that were granted to it directly; others are left alone."""
        ...

    async def granted(self, realm_id: str, user_id: str) -> frozenset[str]:
        """Return the ids of the roles granted to a user directly."""
        ...

    async def effective(self, realm_id: str, user_id: str) -> EffectiveRoles:
        """Return what the user has after composites, names sorted."""
        ...


class GroupRepository(Protocol):
    """Groups, who is in them, and the roles they bring."""

    async def list(self, realm_id: str) -> tuple[Group, ...]:
        """Return the realm's groups, by path."""
        ...

    async def add(self, group: Group) -> None:
        """Store a new group; raises AlreadyExists."""
        ...

    async def replace(self, group: Group) -> None:
        """Overwrite all of the group with the same id but its place in the tree."""
        ...

    async def join(self, realm_id: str, user_id: str, group_id: str) -> None:
        """Make the user a member; twice is once."""
        ...

    async def join_all(self, realm_id: str, members: Sequence[tuple[str, str]]) -> None:
        """Make users members, as pairs of user and group id."""
        ...

    async def members(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the groups that users are members of, by user id."""
        ...

    async def granted(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the roles granted to groups directly, by group id."""
        ...

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Group, ...]:
        """Return the groups of a user, by path; parents are not implied."""
        ...

    async def grant(self, realm_id: str, group_id: str, role_ids: Sequence[str]) -> None:
        """Give roles to a group: its members, and those of its children, have them."""
        ...


class RefreshTokenRepository(Protocol):
    """Families of rotating refresh tokens; `Rotations` uses their tokens."""

    async def begin(
        self, realm_id: str, family: str, *, session_id: str, token_id: str, expires_at: datetime
    ) -> None:
        """Keep a new family whose first token is `token_id`."""
        ...

    async def end_of_session(self, realm_id: str, session_id: str) -> int:
        """End the families of a session; return how many."""
        ...

    async def purge(self, before: datetime) -> int:
        """Forget families that expired before the instant; return how many."""
        ...


class Rotations(Protocol):
    """Uses tokens of families. Every answer is on disk before it is given."""

    async def rotate(
        self,
        realm_id: str,
        family: str,
        token_id: str,
        *,
        successor: str,
        max_reuse: int,
        expires_at: datetime,
    ) -> Rotation:
        """Use a token: accept it and remember its successor, or end the family."""
        ...

    async def is_next(self, realm_id: str, family: str, token_id: str, *, max_reuse: int) -> bool:
        """Tell whether `rotate` would accept the token; nothing changes."""
        ...


class OfflineSessionRepository(SessionStore, Protocol):
    """Sessions that outlive the browser."""

    async def purge(self, before: datetime) -> int:
        """Forget sessions that expired before the instant; return how many."""
        ...


class KeyRepository(Protocol):
    """Signing keys of a realm, private parts sealed."""

    async def list(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return all keys of the realm, newest first."""
        ...

    async def list_alone(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return the same, and let nobody else change them until the transaction ends."""
        ...

    async def add(self, key: RealmKey) -> None:
        """Store a new key."""
        ...

    async def replace(self, key: RealmKey) -> None:
        """Overwrite status, active_from and retire_at of the key with the same id."""
        ...


class RevocationRepository(Protocol):
    """Tokens revoked before their time: kept until they would have expired, see `Lookups`."""

    async def revoke(self, realm_id: str, token_id: str, expires_at: datetime) -> None:
        """Remember the token's jti until `expires_at`; twice is once."""
        ...

    async def purge(self, before: datetime) -> int:
        """Forget revocations that expired before the instant; return how many."""
        ...


class Stores(Protocol):
    """The repositories of one transaction."""

    @property
    def realms(self) -> RealmRepository:
        """Realms."""
        ...

    @property
    def clients(self) -> ClientRepository:
        """Clients."""
        ...

    @property
    def users(self) -> UserRepository:
        """Users."""
        ...

    @property
    def roles(self) -> RoleRepository:
        """Roles."""
        ...

    @property
    def groups(self) -> GroupRepository:
        """Groups."""
        ...

    @property
    def refresh_tokens(self) -> RefreshTokenRepository:
        """Families of refresh tokens."""
        ...

    @property
    def offline_sessions(self) -> OfflineSessionRepository:
        """Sessions that outlive the browser."""
        ...

    @property
    def keys(self) -> KeyRepository:
        """Signing keys."""
        ...

    @property
    def revocations(self) -> RevocationRepository:
        """Revoked tokens."""
        ...


class Database(Protocol):
    """Opens transactions."""

    def read(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction for reading only."""
        ...

    def write(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction: all of it is stored durably on leaving, none on an exception."""
        ...

    @property
    def lookups(self) -> Lookups:
        """What requests ask most, each question by itself."""
        ...

    @property
    def rotations(self) -> Rotations:
        """The use of refresh tokens, each a transaction by itself."""
        ...

    async def ping(self) -> None:
        """Ask the database for nothing, to learn whether it answers."""
        ...
