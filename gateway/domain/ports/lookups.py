"""The look-ups of requests, answered from what is committed now.

A look-up is one statement, so it sees one state of the database, with everything that other
gateways acknowledged before.
"""

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from gateway.domain.client_scopes import RoleBoundScope
from gateway.domain.consents import Consent
from gateway.domain.flows import STANDARD, SignInRules
from gateway.domain.keys import RealmKey
from gateway.domain.ports.directory import ClientEntry, UserEntry
from gateway.domain.ports.invalidation import RecordedChange
from gateway.domain.realm import Realm
from gateway.domain.user_profile.profile import UserProfile
from gateway.domain.users import Credential, User

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Found(Generic[ValueT]):
    """A value and the digest of the row it was read from: equal rows, equal digests."""

    value: ValueT
    digest: bytes


@dataclass(frozen=True, slots=True)
class StoredRealm:
    """A realm with its keys, newest first, and its client scopes by name.

    `sign_in` are the rules that its flows and required actions define, `user_profile` those of a
    profile of its own.
    """

    realm: Realm
    keys: tuple[RealmKey, ...]
    client_scopes: tuple[RoleBoundScope, ...] = ()
    sign_in: SignInRules = STANDARD
    user_profile: UserProfile | None = None


@dataclass(frozen=True, slots=True)
class SignInAccount:
    """A user with its credentials by priority."""

    user: User
    credentials: tuple[Credential, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class UserGrants:
    """The consents of a user, and the internal ids of the clients in its offline sessions."""

    consents: tuple[Consent, ...] = ()
    offline_clients: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TokenState:
    """Whether a token is revoked, and the changes after the one that was asked for, by id."""

    revoked: bool
    changes: tuple[RecordedChange, ...] = ()


class CurrentRevocations(Protocol):
    """Revocations for requests that must not see what a committed change has replaced."""

    async def is_revoked(self, realm_id: str, token_id: str) -> bool:
        """Return whether the jti was revoked; raises StoreUnavailable.

        First, every change that any gateway has committed is invalidated in this process.
        """

    async def catch_up(self, realm_id: str) -> None:
        """Invalidate every committed change in this process; raises StoreUnavailable."""


class Lookups(Protocol):
    """Queries the database; all methods raise `StoreUnavailable("sql")` when it does not answer.

    Where the row of `before` has not changed, `before` itself comes back, without parsing.
    """

    async def is_revoked(self, realm_id: str, token_id: str) -> bool:
        """Return whether the jti was revoked."""

    async def token_state(self, realm_id: str, token_id: str, after: int) -> TokenState:
        """Return whether the jti was revoked, and the changes with higher ids than `after`."""

    async def realm(
        self, name: str, before: Found[StoredRealm] | None = None
    ) -> Found[StoredRealm] | None:
        """Return the realm named exactly `name`."""

    async def client(
        self, realm_id: str, client_id: str, before: Found[ClientEntry] | None = None
    ) -> Found[ClientEntry] | None:
        """Return the client whose public name is exactly `client_id`."""

    async def client_name(self, realm_id: str, client: str) -> str | None:
        """Return the public name of the client with that internal id."""

    async def always_listed(self, realm_id: str) -> tuple[str, ...]:
        """Return the public names of the clients that may have `alwaysDisplayInConsole`.

        It is searched for in the text of the documents: the caller checks what it finds.
        """

    async def account(
        self, realm_id: str, name: str, address: str | None, *, key: str | None = None
    ) -> SignInAccount | None:
        """Return the user with that user name, or else with the e-mail address.

        Both in the form of `canonical_name`. With a `key`, that of `name_key`, a user without that
        name is found by it, unless several users are. Finding no user takes as long as finding one.
        """

    async def user(
        self, realm_id: str, user_id: str, before: Found[UserEntry] | None = None
    ) -> Found[UserEntry] | None:
        """Return the user of this realm with that id."""

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        """Return the credentials of the user by priority."""

    async def grants(self, realm_id: str, user_id: str) -> UserGrants:
        """Return what the user has granted to clients."""
