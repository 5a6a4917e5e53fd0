"""Users and their credentials."""

from collections.abc import Collection, Sequence
from typing import Protocol

from gateway.domain.users import Credential, User, UserQuery


class UserRepository(Protocol):
    """Users and their credentials."""

    async def find_by_username(self, realm_id: str, username: str) -> User | None:
        """Return the user with that (lower-cased) username."""

    async def find_by_id(self, realm_id: str, user_id: str) -> User | None:
        """Return the user with that id, if it is one of this realm."""

    async def find_alone(self, realm_id: str, user_id: str) -> User | None:
        """Return the same, and let nobody else change the user until the transaction ends."""

    async def find_by_email(self, realm_id: str, email: str) -> User | None:
        """Return the first user with that (lower-cased) e-mail address."""

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
        """Store new users of one realm with the credentials they hold; raises AlreadyExists."""

    async def replace(self, user: User) -> None:
        """Overwrite the user with the same id in the same realm."""

    async def remove(self, realm_id: str, user_id: str) -> bool:
        """Forget the user and all that is its own; tell whether there was one."""

    async def hold_names(self, realm_id: str, names: Collection[str]) -> None:
        """Let nobody else hold any of these names and addresses until the transaction ends.

        Who looks whether one is taken, and means to take it, holds it first.
        """

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        """Return the user's credentials by priority."""

    async def having_credential(
        self, realm_id: str, user_ids: Sequence[str], type_: str
    ) -> frozenset[str]:
        """Return which of the users hold a credential of the type."""

    async def set_credential(self, realm_id: str, credential: Credential) -> None:
        """Add the credential, or overwrite the one with the same id."""

    async def remove_credential(self, realm_id: str, credential: Credential) -> None:
        """Forget the credential; one that is gone is gone."""

    async def exchange_credential(
        self, realm_id: str, before: Credential, after: Credential
    ) -> bool:
        """Overwrite the credential unless it has changed since; tell whether it was overwritten."""
