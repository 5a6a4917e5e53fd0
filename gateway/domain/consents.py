"""Consents: which of a user's data the user lets a client have. Keycloak: UserConsentModel."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Consent:
    """The client scopes, by name, that a user has granted to a client; `client` is internal."""

    realm_id: str
    user_id: str
    client: str
    scopes: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
