"""Users, service accounts among them.

Keycloak: UserRepresentation. `document` keeps what has no typed field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class User:
    """A user of one realm; `username` is lower-cased.

    `service_account_client` is the internal UUID of the client whose service account this is.
    """

    id: str
    realm_id: str
    username: str
    enabled: bool
    created_at: datetime
    email: str | None = None
    email_verified: bool = False
    first_name: str | None = None
    last_name: str | None = None
    service_account_client: str | None = None
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """A stored credential in Keycloak's two JSON strings.

    `secret_data` holds hash and salt, `credential_data` algorithm and parameters (Keycloak: 5.4).
    """

    id: str
    user_id: str
    type: str
    created_at: datetime
    credential_data: str
    secret_data: str = field(repr=False)
    priority: int = 10
