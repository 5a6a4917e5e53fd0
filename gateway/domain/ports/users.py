"""Repositories of users and their credentials, consents, groups and roles.

Administrators get groups and roles by pages, with their place in the tree and their holders.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gateway.domain.client_scopes import Consent
    from gateway.domain.groups import Group
    from gateway.domain.limits.password_hashing import HashCost
    from gateway.domain.roles import EffectiveRoles, ListedRole, Role
    from gateway.domain.users import Credential, User, UserQuery


class UserRepository(Protocol):
    """Users and their credentials."""

    async def find_by_username(self, realm_id: str, username: str) -> User | None:
        """Return the user with that (lower-cased) username."""

    async def find_by_id(self, realm_id: str, user_id: str) -> User | None:
        """Return the user of this realm with that id."""

    async def get_for_update(self, realm_id: str, user_id: str) -> User | None:
        """Return the same, locked until the transaction ends."""

    async def holding(
        self, realm_id: str, names: tuple[str, str], addresses: tuple[str, str]
    ) -> tuple[User, ...]:
        """Return a few users with one of the `name_key`s; an empty text matches no user."""

    def expect_holding(
        self, realm_id: str, names: tuple[str, str], addresses: tuple[str, str]
    ) -> None:
        """Read them together with the next statement of the transaction."""

    async def with_keys(self, realm_id: str, keys: Collection[str]) -> tuple[User, ...]:
        """Return the users whose name or address has one of the keys."""

    async def without_key(self, maximum: int, after: User | None = None) -> tuple[User, ...]:
        """Return users of all realms whose names have no stored key, by realm and id.

        An earlier version stored them, or another user's name had the key already.
        """

    async def with_repeated_addresses(self, realm_id: str, maximum: int) -> tuple[User, ...]:
        """Return users whose address has the key of another user's address, by that key."""

    async def find_by_email(self, realm_id: str, email: str) -> User | None:
        """Return the first user, by username, with that (lower-cased) e-mail address."""

    async def find_by_email_key(self, realm_id: str, key: str) -> User | None:
        """Return the first user, by username, whose e-mail address has the key."""

    async def search_users(
        self, realm_id: str, query: UserQuery, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the users that match, by username; service accounts left out."""

    async def count_users(self, realm_id: str, query: UserQuery) -> int:
        """Return how many users match."""

    async def known(self, realm_id: str, usernames: Sequence[str]) -> frozenset[str]:
        """Return which of the (lower-cased) usernames are taken."""

    async def named(self, realm_id: str, usernames: Sequence[str]) -> tuple[User, ...]:
        """Return the users with these (lower-cased) usernames."""

    async def find_service_account(self, realm_id: str, client: str) -> User | None:
        """Return the service-account user of the client with internal id `client`."""

    async def list_users(self, realm_id: str) -> tuple[User, ...]:
        """Return the realm's users, by username."""

    async def add(self, user: User) -> None:
        """Store a new user; raises AlreadyExists."""

    async def add_all(self, added: Sequence[User], held: Sequence[Credential]) -> None:
        """Store new users of a realm with credentials; AlreadyExists may come at the commit."""

    async def replace(self, user: User) -> None:
        """Overwrite the user with the same id in the same realm."""

    async def remove_user(self, realm_id: str, user_id: str) -> bool:
        """Remove the user and everything that belongs to it; return whether it existed."""

    async def lock_names(self, realm_id: str, names: Collection[str]) -> None:
        """Lock the keys of user names and addresses until the transaction ends.

        A caller that checks whether a name is free and then takes it locks the name first.
        """

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        """Return the user's credentials by priority."""

    async def having_credential(
        self, realm_id: str, user_ids: Sequence[str], type_: str
    ) -> frozenset[str]:
        """Return which of the users have a credential of the type."""

    async def set_credential(self, realm_id: str, credential: Credential) -> None:
        """Add the credential, or overwrite the one with the same id.

        Raises AlreadyExists for a security key or passkey that is registered in the realm, for
        this user or another one.
        """

    async def update_label_and_priority(self, realm_id: str, credential: Credential) -> None:
        """Store label and priority of the credential, if it exists; its data stay."""

    async def remove_credential(self, realm_id: str, credential: Credential) -> None:
        """Remove the credential, if it exists."""

    async def exchange_credential(
        self, realm_id: str, before: Credential, after: Credential
    ) -> bool:
        """Overwrite the credential unless it has changed; return whether it was overwritten."""

    async def password_costs(self, realm_id: str) -> tuple[HashCost, ...]:
        """Return the costs that stored passwords of the realm have, and maybe former ones."""

    async def recount_password_costs(self, realm_id: str) -> None:
        """Forget costs that no stored password has any more; looks at every password."""


@dataclass(frozen=True, slots=True)
class WholeUser:
    """A user with its credentials by priority, and its direct roles and groups."""

    user: User
    credentials: tuple[Credential, ...] = field(repr=False)
    role_ids: frozenset[str]
    group_ids: frozenset[str]


class UserBatches(Protocol):
    """Iterates over the users by name."""

    async def after(
        self, realm_id: str, username: str, size: int, *, accounts_only: bool = False
    ) -> tuple[WholeUser, ...]:
        """Return users after a name, or service accounts alone, by username; "" starts."""


class ConsentRepository(Protocol):
    """Consents of a realm's users, one for each client. `client` is the internal id."""

    async def find_consent(self, realm_id: str, user_id: str, client: str) -> Consent | None:
        """Return what the user has granted to the client."""

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Consent, ...]:
        """Return all consents of the user, oldest first."""

    async def put_consent(self, consent: Consent) -> None:
        """Store the consent or replace its scopes; raises InvalidInput for an unknown user."""

    async def remove_consent(self, realm_id: str, user_id: str, client: str) -> bool:
        """Remove the consent; return whether it existed."""


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """Which groups to list: all conditions must hold.

    `parent` is the id of the parent, "" at the top; None selects all levels. `search` is a
    part of the name, without regard to case, or where `exact` the whole of it. `attributes`
    are values by name, each of which a group must have.
    """

    parent: str | None = None
    search: str = ""
    exact: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    first: int = 0
    maximum: int | None = None


class GroupCatalogue(Protocol):
    """Finds groups and their members. Ids of another realm are not found."""

    async def list_groups(self, realm_id: str, query: GroupQuery) -> tuple[Group, ...]:
        """Return the groups, by name."""

    async def count_groups(self, realm_id: str, query: GroupQuery) -> int:
        """Return how many groups match, whatever the page."""

    async def find_group(
        self, realm_id: str, group_id: str, *, for_update: bool = False
    ) -> Group | None:
        """Return the group with that id; `for_update` locks it until the transaction ends."""

    async def find_by_path(self, realm_id: str, path: str) -> Group | None:
        """Return the group at `/parent/child`; names may have slashes of their own."""

    async def with_parents(self, realm_id: str, group_ids: Sequence[str]) -> tuple[Group, ...]:
        """Return the groups and all their parents, by path."""

    async def child_counts(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the number of direct subgroups of each; others are left out."""

    async def roles(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, EffectiveRoles]:
        """Return the names of the roles granted directly to each; others are left out."""

    async def members(
        self, realm_id: str, group_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the members, by username; members of subgroups are not included."""

    async def having_role(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[Group, ...]:
        """Return a page of the groups with a direct grant of the role, by name."""

    async def height(self, realm_id: str, group_id: str) -> int:
        """Return the number of levels from this group down, its own included."""

    async def move(self, realm_id: str, group_id: str, parent: str | None) -> None:
        """Put a group below another, or at the top; raises AlreadyExists."""

    async def remove_group(self, realm_id: str, group_id: str) -> None:
        """Remove the group, all groups below it, and their memberships."""


class GroupRepository(Protocol):
    """Groups, their members and their roles."""

    async def list_groups(self, realm_id: str) -> tuple[Group, ...]:
        """Return the realm's groups, by path."""

    async def add(self, group: Group) -> None:
        """Store a new group; raises AlreadyExists."""

    async def replace(self, group: Group) -> None:
        """Overwrite the group with the same id, except for its place in the tree."""

    async def join(self, realm_id: str, user_id: str, group_id: str) -> None:
        """Make the user a member; a repetition changes nothing."""

    async def join_all(self, realm_id: str, members: Sequence[tuple[str, str]]) -> None:
        """Make users members, as pairs of user and group id."""

    async def leave(self, realm_id: str, user_id: str, group_id: str) -> None:
        """End the membership, if there is one."""

    async def default(self, realm_id: str) -> tuple[str, ...]:
        """Return the ids of the default groups of new users."""

    def expect_default(self, realm_id: str) -> None:
        """Read them together with the next statement of the transaction."""

    async def joined_by(
        self, realm_id: str, user_ids: Sequence[str]
    ) -> Mapping[str, frozenset[str]]:
        """Return the ids of the groups that the users have joined, by user."""

    async def members(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the groups that users are members of, by user id."""

    async def granted(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the roles granted to groups directly, by group id."""

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Group, ...]:
        """Return the groups that a user is a member of, by path; parents are not included."""

    async def grant(self, realm_id: str, group_id: str, role_ids: Sequence[str]) -> None:
        """Grant roles to a group: its members, and those of its subgroups, have them."""


class HolderKind(StrEnum):
    """The kinds of holders of roles."""

    CLIENT = "client"
    """The roles in the scope of a client."""
    CLIENT_SCOPE = "client scope"
    COMPOSITE = "composite"
    """The roles that a role contains."""
    GROUP = "group"
    USER = "user"


@dataclass(frozen=True, slots=True)
class RoleHolder:
    """One holder of roles, by its internal id."""

    kind: HolderKind
    id: str


class Share(StrEnum):
    """Which roles, as seen from a holder."""

    DIRECT = "given to it"
    EFFECTIVE = "given to it, to its groups and to their parents, and all that these contain"
    MISSING = "not given to it directly"


@dataclass(frozen=True, slots=True)
class RoleQuery:
    """Which roles to list: all conditions must hold.

    `container` is the internal id of a client, or "" for realm roles; None selects both.
    `search` is a part of name or description, without regard to case; `maximum` None is all.
    """

    holder: RoleHolder | None = None
    share: Share = Share.DIRECT
    container: str | None = None
    search: str = ""
    first: int = 0
    maximum: int | None = None


class RoleCatalogue(Protocol):
    """Finds roles and their holders. Ids of another realm are not found."""

    async def list_roles(self, realm_id: str, query: RoleQuery) -> tuple[ListedRole, ...]:
        """Return the roles, by name."""

    async def find_role(
        self, realm_id: str, role_id: str, *, for_update: bool = False
    ) -> ListedRole | None:
        """Return the role with that id; `for_update` locks it until the transaction ends."""

    async def find_by_name(
        self, realm_id: str, client: str | None, name: str, *, for_update: bool = False
    ) -> ListedRole | None:
        """Return the role of the client with internal id `client`, or of the realm, by name."""

    async def by_ids(self, realm_id: str, role_ids: Sequence[str]) -> Mapping[str, ListedRole]:
        """Return those of the roles that exist, by id."""

    async def containing(self, realm_id: str, role_ids: Sequence[str]) -> frozenset[str]:
        """Return the ids of these roles and of all composites that contain one of them."""

    async def replace(self, role: Role) -> None:
        """Overwrite name, description and attributes of the role; raises AlreadyExists."""

    async def remove_role(self, realm_id: str, role_id: str) -> None:
        """Remove the role and every grant of it."""

    async def grant_roles(self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]) -> None:
        """Grant roles to a holder; a repeated grant changes nothing."""

    async def revoke_roles(
        self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]
    ) -> None:
        """Revoke roles that a holder has directly; other ids are ignored."""

    async def users(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the users with a direct grant of the role, by username."""


class RoleRepository(Protocol):
    """Roles, composites and grants."""

    async def list_roles(self, realm_id: str) -> tuple[Role, ...]:
        """Return realm and client roles of the realm, by name."""

    async def add(self, role: Role) -> None:
        """Store a new role without its composites; raises AlreadyExists."""

    async def find_realm_role(self, realm_id: str, name: str) -> Role | None:
        """Return the realm role with that name, its composites left out."""

    def expect_realm_role(self, realm_id: str, name: str) -> None:
        """Read it together with the next statement of the transaction."""

    async def add_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Add roles to a composite; roles that it contains already are left alone."""

    async def set_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Replace the direct composites of a role."""

    async def grant(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        """Grant roles to a user; roles that the user has already are left alone."""

    async def grant_all(self, realm_id: str, grants: Sequence[tuple[str, str]]) -> None:
        """Grant roles to many users, as pairs of user id and role id."""

    async def granted_to(
        self, realm_id: str, user_ids: Sequence[str]
    ) -> Mapping[str, frozenset[str]]:
        """Return the ids of the roles that the users were granted themselves, by user."""

    async def granted(self, realm_id: str, user_id: str) -> frozenset[str]:
        """Return the ids of the roles granted directly to a user."""

    async def effective(self, realm_id: str, user_id: str) -> EffectiveRoles:
        """Return the roles of the user, from groups and composites too, names sorted."""

    async def expanded(self, realm_id: str, role_ids: Sequence[str]) -> EffectiveRoles:
        """Return the roles and all that they contain, names sorted."""


class RoleScopeRepository(Protocol):
    """Roles in the scope of clients and client scopes. Keycloak: scope mappings."""

    async def list_roles_in_scope(
        self, realm_id: str, kind: HolderKind
    ) -> Mapping[str, frozenset[str]]:
        """Return the ids of direct roles by the id of the client or client scope."""

    async def reached(
        self, realm_id: str, client: str | None, client_scopes: Sequence[str]
    ) -> frozenset[str]:
        """Return ids of roles in the scope of a client and scopes, also composites and its own."""
