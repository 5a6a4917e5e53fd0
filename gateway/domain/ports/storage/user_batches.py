"""All users of a realm, some at a time, with all that belongs to each."""

from dataclasses import dataclass, field
from typing import Protocol

from gateway.domain.users import Credential, User


@dataclass(frozen=True, slots=True)
class WholeUser:
    """A user with its credentials by priority, and the roles and groups given to it directly."""

    user: User
    credentials: tuple[Credential, ...] = field(repr=False)
    role_ids: frozenset[str]
    group_ids: frozenset[str]


class UserBatches(Protocol):
    """Walks along the users by name."""

    async def after(
        self, realm_id: str, username: str, size: int, *, accounts_only: bool = False
    ) -> tuple[WholeUser, ...]:
        """Return the next users after a name, by username; "" begins.

        `accounts_only` are the service accounts of clients.
        """
