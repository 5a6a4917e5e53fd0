"""The roles that give administrative rights, and which of them tokens of a client may carry.

A realm's own administrators have them from its client `realm-management`, those of the realm
`master` from the client `<realm>-realm` there, and as `admin` and `create-realm`. Keycloak: 9
(administrative roles)

The reach of a client is everything that decides who receives its tokens and what these may carry.
An administrative role of a user enters a token only where the administrator who decided on the
reach had that role: others could otherwise collect the rights of their superiors.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.roles import EffectiveRoles

OWNER_OF_A_REALM: Final = "realm-management"
"""The client of a realm that holds the roles over it."""
OWNER_IN_MASTER: Final = "-realm"
"""What follows the name of a realm in the name of the client in `master` with the roles over it."""
EVERYWHERE: Final = frozenset({"admin", "create-realm"})
"""Roles of the realm `master` itself."""
ACCOUNT: Final = "account"
"""The client whose roles let a user manage the own account."""
_TAKE_OVER: Final = frozenset(
    {"manage-account", "manage-account-links", "manage-consent", "delete-account"}
)
"""Roles of `account` with which a token changes how its user signs in."""


def owns_rights(client_id: str, *, in_master: bool) -> bool:
    """Return whether a client with that public name owns administrative roles, or would."""
    return client_id.endswith(OWNER_IN_MASTER) if in_master else client_id == OWNER_OF_A_REALM


def administrative_name(client_id: str | None, name: str, *, in_master: bool) -> str | None:
    """Return an administrative role as `name` or `client/name`, None for any other role."""
    if client_id is None:
        return name if in_master and name in EVERYWHERE else None
    return f"{client_id}/{name}" if owns_rights(client_id, in_master=in_master) else None


@dataclass(frozen=True, slots=True)
class AdministrativeReach:
    """The administrative roles of users that tokens may carry, as `name` or `client/name`."""

    everything: bool = False
    roles: frozenset[str] = frozenset()

    def contains(self, role: str) -> bool:
        return self.everything or role in self.roles

    def within(self, other: "AdministrativeReach") -> "AdministrativeReach":
        """Return the roles that are in both."""
        if self.everything:
            return other
        return self if other.everything else AdministrativeReach(roles=self.roles & other.roles)


NO_ADMINISTRATIVE_ROLES: Final = AdministrativeReach()
EVERY_ADMINISTRATIVE_ROLE: Final = AdministrativeReach(everything=True)
RoleKey = tuple[str | None, str]
"""Public name of the client, None for a realm role, and name of a role."""


@dataclass(frozen=True, slots=True)
class WithheldRoles:
    """Roles that a reach withholds from a user; `composites` contain such an administrative one."""

    in_master: bool
    reach: AdministrativeReach = NO_ADMINISTRATIVE_ROLES
    composites: frozenset[RoleKey] = field(default_factory=frozenset)

    @classmethod
    def of(
        cls,
        reach: AdministrativeReach,
        contained: Iterable[tuple[RoleKey, RoleKey]],
        *,
        in_master: bool,
    ) -> "WithheldRoles":
        """Return the roles beyond a reach; `contained` are pairs of a composite and a part."""
        composites = (
            composite
            for composite, (client, name) in contained
            if not _is_within(reach, client, name, in_master=in_master)
        )
        return cls(in_master, reach, frozenset(composites))

    def remove_from(
        self, roles: EffectiveRoles, keep: EffectiveRoles | None = None
    ) -> EffectiveRoles:
        """Return the roles of a user without those withheld; those in `keep` are left.

        Pass all roles of the user: a scope is applied to the result. Where one is removed, the
        roles that change the account of the user are removed too: otherwise a token could change
        the address of an administrator and reset the password.
        """
        kept = frozenset() if keep is None else frozenset(keep.pairs())
        removed = {
            (client, name)
            for client, name in roles.pairs()
            if (client, name) not in kept and self._withholds(client, name)
        }
        if not removed:
            return roles
        removed |= {(ACCOUNT, name) for name in _TAKE_OVER}
        of_clients = (
            (client, tuple(name for name in names if (client, name) not in removed))
            for client, names in roles.clients
        )
        return EffectiveRoles(
            tuple(name for name in roles.realm if (None, name) not in removed),
            tuple((client, names) for client, names in of_clients if names),
        )

    def _withholds(self, client: str | None, name: str) -> bool:
        return (client, name) in self.composites or not _is_within(
            self.reach, client, name, in_master=self.in_master
        )


def _is_within(
    reach: AdministrativeReach, client: str | None, name: str, *, in_master: bool
) -> bool:
    found = administrative_name(client, name, in_master=in_master)
    return found is None or reach.contains(found)
