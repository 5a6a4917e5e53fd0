"""Previews of tokens that are not issued, for administrators. Keycloak: evaluate-scopes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.ports.lookups import ClientEntry, RealmEntry, UserEntry


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
