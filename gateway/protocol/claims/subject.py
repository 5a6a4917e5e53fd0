"""The subject of a token: the facts that claim mappers may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gateway.domain.clients import Client
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.protocol.claims.subject_identifiers import subject_identifier


@dataclass(frozen=True, slots=True)
class TokenSubject:
    """The user, the requesting client, the roles that it may see, and the session's notes.

    `acr` is the authentication context class reached. Spec: OpenID Connect Core §2
    """

    user: User
    client: Client
    roles: EffectiveRoles
    session_notes: Mapping[str, str]
    acr: str
    groups: tuple[str, ...] = ()
    """Paths of the user's groups."""
    group_attributes: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    """Of its groups and of their parents, the nearest first."""
    session_id: str | None = None
    """None for a transient session."""
    authenticated_at: datetime | None = None
    """When the user signed in with credentials; None for a grant without pages."""
    requested_claims: str = field(default="", repr=False)
    """The parameter `claims` of the authorization request, empty without one."""

    @property
    def identifier(self) -> str:
        """Return the `sub` by which the client knows the user."""
        return subject_identifier(self.client, self.user.id)
