"""User sessions: one sign-in, and the clients that take part in it; rotation of refresh tokens.

Online and offline sessions are the same value in different stores. In a family of refresh tokens
each use retires a token and names its successor. Spec: RFC 9700 §4.14; Keycloak: 3, 2.4
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ClientSession:
    """One client's part of a session. `client` is its internal id."""

    client: str
    started_at: datetime
    refreshed_at: datetime
    scope: str = ""
    """The scope that was granted, the names a client may not see included."""
    acr: str | None = None
    """The class of the sign-in for this client; None for a grant without pages."""
    authenticated_at: datetime | None = None
    """When the user signed in with credentials, before this client took part or for it."""
    claims: str = ""
    """The parameter `claims` of the client's request, empty without one."""


@dataclass(frozen=True, slots=True)
class UserSession:
    """A signed-in user. `refreshed_at` moves with every refresh of any of its clients."""

    id: str
    realm_id: str
    user_id: str
    username: str
    ip_address: str
    started_at: datetime
    refreshed_at: datetime
    remember_me: bool = False
    offline: bool = False
    clients: Mapping[str, ClientSession] = field(default_factory=dict)
    """By the client's internal id."""
    notes: Mapping[str, str] = field(default_factory=dict)
