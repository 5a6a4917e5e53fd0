"""Realms, clients and users for requests: look-ups in the database, and a directory in memory.

A look-up is one statement, so it sees one state of the database, with everything that other
gateways acknowledged before. A directory and the texts of realms may lag behind the database by
seconds, never by more than the configured age: code that writes realms, keys, clients, users or
roles records the topic in the change log and publishes it through Invalidation. Administrators get
previews of tokens that are not issued. Keycloak: evaluate-scopes
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from gateway.domain.flows import STANDARD, SignInRules
from gateway.domain.roles import EffectiveRoles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from gateway.domain.client_scopes import ClientScope, Consent, RoleBoundScope
    from gateway.domain.clients import Client, WithheldRoles
    from gateway.domain.keys import RealmKey
    from gateway.domain.ports.invalidation import RecordedChange
    from gateway.domain.ports.signing import KeyRing
    from gateway.domain.realm import Realm
    from gateway.domain.user_profile import UserProfile
    from gateway.domain.users import Credential, User


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class RealmEntry:
    """A realm with its keys parsed and its client scopes by name.

    `sign_in` are the rules that its flows and required actions define, `user_profile` those of a
    profile of its own. The same object comes back until something changes, so derived values may be
    cached in a dictionary with weak keys.
    """

    realm: Realm
    key_ring: KeyRing = field(repr=False)
    client_scopes: tuple[RoleBoundScope, ...] = ()
    sign_in: SignInRules = STANDARD
    user_profile: UserProfile | None = None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ClientEntry:
    """A client with its service account, if any, and the roles of that account.

    The same object comes back until something changes.
    `scope_roles` are the roles that its tokens may carry where its scope is not full: its own, and
    those in its scope mappings, composites resolved. `own_roles` are the names of its own.
    `withheld` are the roles of users that they do not carry; None where its reach is everything.
    """

    client: Client
    service_account: User | None
    roles: EffectiveRoles
    scope_roles: EffectiveRoles = field(default_factory=EffectiveRoles)
    own_roles: frozenset[str] = frozenset()
    withheld: WithheldRoles | None = None


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A user with everything in tokens; attributes of groups are the nearest first."""

    user: User
    roles: EffectiveRoles
    groups: tuple[str, ...] = ()
    group_attributes: tuple[Mapping[str, tuple[str, ...]], ...] = ()


class CertificateOwnerIndex(Protocol):
    """Finds the clients that may own a certificate, as they are committed now."""

    async def with_terms(self, realm_id: str, terms: Collection[str], most: int) -> tuple[str, ...]:
        """Return at most `most` public names of clients with a term; raises StoreUnavailable."""

    async def without_registered(self, realm_id: str, client_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the owners of one certificate without those that registered themselves.

        Names that administrators gave win over registered ones; all owners are returned where all
        or none registered themselves. Raises StoreUnavailable.
        """


class Directory(Protocol):
    """Finds realms, clients and users for the endpoints.

    A change of one user is published as `user:<realm id>:<user id>`, a change of one client or its
    service account as `client:<realm id>:<the client's internal id>`.
    """

    async def realm(self, name: str) -> RealmEntry | None:
        """Return the realm, up to an hour old without database; raises StoreUnavailable."""

    async def client(self, realm_id: str, client_id: str) -> ClientEntry | None:
        """Return the client with that public name; raises StoreUnavailable, never a stale one."""

    async def client_with_id(self, realm_id: str, client: str) -> ClientEntry | None:
        """Return the client with that internal id; raises StoreUnavailable, never a stale one."""

    async def always_listed(self, realm_id: str) -> tuple[ClientEntry, ...]:
        """Return the clients with `alwaysDisplayInConsole`; raises StoreUnavailable."""

    async def user(self, realm_id: str, user_id: str) -> UserEntry | None:
        """Return the user with that id; raises StoreUnavailable, never a stale one."""


ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Found(Generic[ValueT]):
    """A value and the digest of the row it was read from: equal rows, equal digests."""

    value: ValueT
    digest: bytes


@dataclass(frozen=True, slots=True)
class StoredRealm:
    """A realm, its keys (newest first), scopes, and the rules of its flows and profile."""

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


MOST_EXCHANGES: Final = 16
"""How many exchanges may follow each other: each token names those that it was exchanged from."""


class CurrentRevocations(Protocol):
    """Revocations for requests that must not see what a committed change has replaced."""

    async def is_revoked(self, realm_id: str, *token_ids: str) -> bool:
        """Catch up with all changes, then return as `Lookups`; raises StoreUnavailable."""

    async def catch_up(self, realm_id: str) -> None:
        """Invalidate every committed change in this process; raises StoreUnavailable."""


class Lookups(Protocol):
    """Queries the database; an unchanged row returns `before`. Raises StoreUnavailable."""

    async def is_revoked(self, realm_id: str, *token_ids: str) -> bool:
        """Return whether one of the jti was revoked: of a token, or of a token that it came from.

        Raises ValueError without any, and for more than 1 + MOST_EXCHANGES.
        """

    async def token_state(
        self, realm_id: str, token_ids: tuple[str, ...], after: int
    ) -> TokenState:
        """Return the same, and the changes with higher ids than `after`."""

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
        """Return the names of clients that may have `alwaysDisplayInConsole`; check them."""

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


class RealmTexts(Protocol):
    """Finds the texts that administrators wrote (admin API `localization`)."""

    async def find_texts(
        self, realm_id: str, locales: Sequence[str]
    ) -> Mapping[str, Mapping[str, str]]:
        """Return the texts by locale, then by key; maybe none while there is no database."""


@dataclass(frozen=True, slots=True)
class TokenExample:
    """A token that is not issued: what a `TokenPreview` needs to know of it."""

    realm: RealmEntry
    client: ClientEntry
    user: UserEntry
    scope: str
    issuer: str
    now: datetime
    audience: str | None


class TokenPreview(Protocol):
    """Claims of tokens, as the token endpoint would make them."""

    def scopes(self, realm: RealmEntry, client: Client, scope: str) -> Sequence[ClientScope]:
        """Return the client scopes that a request for `scope` would be granted."""

    def access_token(self, example: TokenExample) -> dict[str, Any]:
        """Return the claims of an access token; raises NotFound for an unknown audience."""

    def id_token(self, example: TokenExample) -> dict[str, Any]:
        """Return the claims of an ID token."""

    def userinfo(self, example: TokenExample) -> dict[str, Any]:
        """Return the userinfo document."""
