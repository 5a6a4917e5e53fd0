"""Realms, clients and users for requests, from memory where possible.

A directory may lag behind the database by seconds, never by more than its configured age: code that
writes realms, keys, clients, users or roles records the topic in the change log and publishes it
through Invalidation.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.domain.client_scopes import RoleBoundScope
from gateway.domain.clients import Client, WithheldRoles
from gateway.domain.flows import STANDARD, SignInRules
from gateway.domain.ports.signing import KeyRing
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.user_profile.profile import UserProfile
from gateway.domain.users import User


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
    """A user with everything that tokens contain. `groups` are paths.

    `group_attributes` are those of its groups and of their parents, nearest first.
    """

    user: User
    roles: EffectiveRoles
    groups: tuple[str, ...] = ()
    group_attributes: tuple[Mapping[str, tuple[str, ...]], ...] = ()


class CertificateOwnerIndex(Protocol):
    """Finds the clients that may own a certificate, as they are committed now."""

    async def with_terms(self, realm_id: str, terms: Collection[str], most: int) -> tuple[str, ...]:
        """Return at most `most` public names of clients that have one of the terms.

        See `gateway/domain/clients/certificate_index.py`. Raises StoreUnavailable.
        """

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
        """Return the realm named exactly `name`; raises StoreUnavailable.

        While the database is unavailable a known realm is still returned, for up to an hour.
        """

    async def client(self, realm_id: str, client_id: str) -> ClientEntry | None:
        """Return the client with that public name; raises StoreUnavailable, never a stale one."""

    async def client_with_id(self, realm_id: str, client: str) -> ClientEntry | None:
        """Return the client with that internal id; raises StoreUnavailable, never a stale one."""

    async def always_listed(self, realm_id: str) -> tuple[ClientEntry, ...]:
        """Return the clients with `alwaysDisplayInConsole`; raises StoreUnavailable."""

    async def user(self, realm_id: str, user_id: str) -> UserEntry | None:
        """Return the user with that id; raises StoreUnavailable, never a stale one."""
