"""Consent: whether the user has to be asked before a client gets tokens, and the answer.

Only a client that requires consent asks: for the granted scopes that are displayed, or for itself
where none is. A consent is stored and holds for later sign-ins, unless the request asks for it anew
(`prompt=consent`). Spec: OpenID Connect Core §3.1.2.4; Keycloak: 1.4 (row 12), consent screen
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gateway.domain.client_scopes import Consent
from gateway.domain.clients import Client
from gateway.domain.ports.lookups import UserEntry
from gateway.domain.ports.storage import Database
from gateway.protocol.scopes import GrantedScopes


class ConsentDetail(StrEnum):
    """The event detail `consent`. Keycloak: 10.2 event details."""

    NOT_REQUIRED = "no_consent_required"
    PERSISTENT = "persistent_consent"
    GRANTED = "consent_granted"


@dataclass(frozen=True, slots=True)
class ConsentItem:
    """A client scope to consent to, or the client itself if empty; `text` may name a message."""

    scope: str
    text: str


class Consents:
    """Asks for consents, stores them, and checks them. Methods raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def missing(
        self, client: Client, user: UserEntry, scopes: GrantedScopes, *, ask_again: bool = False
    ) -> tuple[ConsentItem, ...]:
        """Return what the user has to be asked for; `ask_again` is for `prompt=consent`."""
        items = displayed_items(client, user, scopes)
        if not items or ask_again:
            return items
        async with self._database.read() as stores:
            found = await stores.consents.find_consent(user.user.realm_id, user.user.id, client.id)
        granted = () if found is None else ("", *found.scopes)
        return tuple(item for item in items if item.scope not in granted)

    async def grant(
        self, client: Client, user: UserEntry, scopes: GrantedScopes, now: datetime
    ) -> None:
        """Store the consent to the displayed scopes, if the client requires it, beside others."""
        items = displayed_items(client, user, scopes)
        if not items:
            return
        given = tuple(item.scope for item in items if item.scope)
        realm_id, user_id = user.user.realm_id, user.user.id
        async with self._database.write() as stores:
            before = await stores.consents.find_consent(realm_id, user_id, client.id)
            names = tuple(dict.fromkeys((*(before.scopes if before else ()), *given)))
            await stores.consents.put_consent(
                Consent(realm_id, user_id, client.id, names, now, now)
            )

    async def holds(self, client: Client, user: UserEntry, scopes: GrantedScopes) -> bool:
        """Return whether the user's consent covers the scopes, or none is required."""
        return not await self.missing(client, user, scopes)


def displayed_items(
    client: Client, user: UserEntry, scopes: GrantedScopes
) -> tuple[ConsentItem, ...]:
    """Return the items of the consent page, in their order; none where none is required."""
    return requested_items(client, user, scopes) if client.consent_required else ()


def requested_items(
    client: Client, user: UserEntry, scopes: GrantedScopes
) -> tuple[ConsentItem, ...]:
    """Return the items of a consent page; the client itself where no scope is displayed."""
    permitted = scopes.permitted_to(user.roles).chosen.scopes
    found = (bound.scope for bound in permitted)
    return tuple(
        ConsentItem(scope.name, scope.consent_text) for scope in found if scope.on_consent_screen
    ) or (ConsentItem("", client.display.name or client.client_id),)
