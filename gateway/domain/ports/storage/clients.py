"""Clients and client scopes of a realm."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.roles import EffectiveRoles


@dataclass(frozen=True, slots=True)
class ClientSearch:
    """What to search for. `part` is any part of the public name, without regard to case."""

    part: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Exact values by name."""


class ClientRepository(Protocol):
    """Clients of a realm. An id is the internal one; public names are called so."""

    async def find_by_id(self, realm_id: str, client: str) -> Client | None:
        """Return the client with that id."""

    async def get_for_update(self, realm_id: str, client: str) -> Client | None:
        """Return the same, locked until the transaction ends."""

    async def find_by_client_id(self, realm_id: str, client_id: str) -> Client | None:
        """Return the client whose public name is exactly `client_id`."""

    async def named(self, realm_id: str, client_ids: Sequence[str]) -> tuple[Client, ...]:
        """Return the clients with these public names that exist."""

    async def list(self, realm_id: str) -> tuple[Client, ...]:
        """Return the realm's clients by client_id."""

    async def search(
        self, realm_id: str, search: ClientSearch, first: int, maximum: int
    ) -> tuple[Client, ...]:
        """Return a page of the clients that match, by public name."""

    async def using_scopes(self, realm_id: str, names: Collection[str]) -> tuple[Client, ...]:
        """Return clients with one of the client scopes, but none without administrative roles."""

    async def with_certificate_terms(
        self, realm_id: str, terms: Collection[str], most: int
    ) -> tuple[str, ...]:
        """Return at most `most` public names of clients that have one of the terms.

        See `gateway/domain/clients/certificate_index.py`.
        """

    async def certificate_terms(self, realm_id: str, most: int) -> tuple[tuple[str, str], ...]:
        """Return at most `most` terms of the realm's clients, each with the public name."""

    async def with_registration_token(
        self, realm_id: str, client_ids: Sequence[str]
    ) -> frozenset[str]:
        """Return the public names among these of clients that a registration token changes."""

    async def account_roles(
        self, realm_id: str, owners: Sequence[str]
    ) -> Mapping[str, EffectiveRoles]:
        """Return the roles of service accounts, by the ids of the clients that have one."""

    async def ids(self, realm_id: str) -> Mapping[str, str]:
        """Return the ids of the realm's clients by client_id."""

    async def add(self, client: Client) -> None:
        """Store a new client, its secret sealed; raises AlreadyExists."""

    async def replace(self, client: Client) -> None:
        """Overwrite the client with the same id in the same realm; raises AlreadyExists."""

    async def remove(self, realm_id: str, client: str) -> bool:
        """Remove the client, its roles and its service account; return whether it existed."""

    async def remove_service_account(self, realm_id: str, client: str) -> None:
        """Remove the user that is the client's service account, if any."""

    async def registration_token(self, realm_id: str, client: str) -> str | None:
        """Return the jti of the registration access token that is accepted."""

    async def set_registration_token(
        self, realm_id: str, client: str, token_id: str | None
    ) -> None:
        """Accept no registration access token of the client but this one."""


class ClientScopeRepository(Protocol):
    """Client scopes of a realm."""

    async def list(self, realm_id: str) -> tuple[ClientScope, ...]:
        """Return the realm's client scopes by name."""

    async def find(self, realm_id: str, scope_id: str) -> ClientScope | None:
        """Return the scope with that id."""

    async def get_for_update(self, realm_id: str, scope_id: str) -> ClientScope | None:
        """Return the same, locked until the transaction ends."""

    async def add(self, scope: ClientScope) -> None:
        """Store a new scope; raises AlreadyExists."""

    async def replace(self, scope: ClientScope) -> None:
        """Overwrite the scope with the same id; raises AlreadyExists when its name is taken."""

    async def remove(self, realm_id: str, scope_id: str) -> bool:
        """Remove the scope; return whether it existed."""
