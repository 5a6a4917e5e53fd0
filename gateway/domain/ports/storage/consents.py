"""Consents of users."""

from typing import Protocol

from gateway.domain.consents import Consent


class ConsentRepository(Protocol):
    """Consents of a realm's users, one for each client. `client` is the internal id."""

    async def find(self, realm_id: str, user_id: str, client: str) -> Consent | None:
        """Return what the user has granted to the client."""

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Consent, ...]:
        """Return all consents of the user, oldest first."""

    async def put(self, consent: Consent) -> None:
        """Store the consent or replace its scopes; raises InvalidInput for an unknown user."""

    async def remove(self, realm_id: str, user_id: str, client: str) -> bool:
        """Remove the consent; return whether it existed."""
