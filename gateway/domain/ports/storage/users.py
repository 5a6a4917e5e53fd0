"""Users and their credentials."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.domain.limits.password_hashing import HashCost
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
        """Return users with one of the keys of names or addresses; at most a few.

        Keys are those of `name_key`. An empty text matches no user.
        """

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

    async def search(
        self, realm_id: str, query: UserQuery, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the users that match, by username; service accounts left out."""

    async def count(self, realm_id: str, query: UserQuery) -> int:
        """Return how many users match."""

    async def known(self, realm_id: str, usernames: Sequence[str]) -> frozenset[str]:
        """Return which of the (lower-cased) usernames are taken."""

    async def find_service_account(self, realm_id: str, client: str) -> User | None:
        """Return the service-account user of the client with internal id `client`."""

    async def list(self, realm_id: str) -> tuple[User, ...]:
        """Return the realm's users, by username."""

    async def add(self, user: User) -> None:
        """Store a new user; raises AlreadyExists."""

    async def add_all(self, added: Sequence[User], held: Sequence[Credential]) -> None:
        """Store new users of one realm with their credentials.

        AlreadyExists is raised here, or at the next statement or the end of the transaction.
        """

    async def replace(self, user: User) -> None:
        """Overwrite the user with the same id in the same realm."""

    async def remove(self, realm_id: str, user_id: str) -> bool:
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
        """Store the label and the priority of the credential, if it exists.

        Its data stay as they are stored: a sign-in may have advanced a step or counter meanwhile.
        """

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
        """Return the users after a name, by username; "" starts.

        `accounts_only` selects the service accounts of clients.
        """
