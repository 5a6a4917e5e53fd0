"""From a user, or a service account, to the subject of a token."""

from typing import Final

from gateway.domain.clients import Client
from gateway.domain.ports.directory import UserEntry
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.subject import TokenSubject

SIGNED_IN: Final = "1"
"""`acr` of a sign-in with one factor. Keycloak: 2.2."""


def subject_of(
    client: Client, entry: UserEntry, notes: dict[str, str] | None = None
) -> TokenSubject:
    """Return what `client` may learn of the user: roles only where its scope is full."""
    return TokenSubject(
        user=entry.user,
        client=client,
        roles=entry.roles if client.full_scope_allowed else EffectiveRoles(),
        session_notes=notes or {},
        acr=SIGNED_IN,
        groups=entry.groups,
    )
