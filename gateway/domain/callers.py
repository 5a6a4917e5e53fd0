"""The caller of the admin API: the bearer of an access token, and the roles it may carry."""

from dataclasses import dataclass, field

from gateway.domain.clients import Client, WithheldRoles
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import UserSession
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class Caller:
    """A user, or a service account, of `realm`, with a token of `client`.

    `scope` are the roles that such a token may carry, None if unlimited; those in `withheld` it may
    not. `held` are the roles that the user has in its realm; the caller acts with the others.
    """

    realm: Realm
    user: User
    client: Client
    scope: EffectiveRoles | None = None
    held: EffectiveRoles = field(default_factory=EffectiveRoles)
    withheld: WithheldRoles | None = None
    session: UserSession | None = None
    """The session of the token; None for a transient one."""

    def within_token(self, held: EffectiveRoles) -> EffectiveRoles:
        """Return those of the user's roles that the caller acts with."""
        roles = held if self.withheld is None else self.withheld.remove_from(held)
        return roles if self.scope is None else roles.within(self.scope)
