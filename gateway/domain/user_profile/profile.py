"""Which attributes users have, who may see and change each, and what its values must be.

Keycloak: UPConfig, without its groups
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

from gateway.domain.user_profile.display import PLAIN, AttributeDisplay
from gateway.domain.user_profile.findings import Check

USERNAME: Final = "username"
EMAIL: Final = "email"
FIRST_NAME: Final = "firstName"
LAST_NAME: Final = "lastName"
ROOTS: Final = (USERNAME, EMAIL, FIRST_NAME, LAST_NAME)
"""What every user has as a field of its own."""
ACCEPTED_TERMS: Final = "terms_and_conditions"
PENDING_EMAIL: Final = "kc.email.pending"
_WRITTEN_BY_ACTIONS: Final = frozenset({ACCEPTED_TERMS, PENDING_EMAIL})
"""What required actions write: administrators see it, whatever the profile names."""

Values = Mapping[str, tuple[str, ...]]
"""The values of attributes, the roots among them, by name."""


class Viewer(StrEnum):
    """Who looks at an attribute, or changes it."""

    ADMIN = "admin"
    USER = "user"


class UnmanagedPolicy(StrEnum):
    """Who may handle attributes that the profile does not name; no one where it is unset."""

    ENABLED = "ENABLED"
    ADMIN_EDIT = "ADMIN_EDIT"
    ADMIN_VIEW = "ADMIN_VIEW"


@dataclass(frozen=True, slots=True)
class Required:
    """Who must have a value: every user where no role is named.

    Where `scopes` are named, only users who sign in for one of them.
    """

    roles: frozenset[Viewer] = frozenset()
    scopes: tuple[str, ...] = ()

    def of(self, viewer: Viewer) -> bool:
        return not self.scopes and (not self.roles or viewer in self.roles)

    def requested_with(self, scopes: frozenset[str]) -> Self | None:
        """Return the requirement in a sign-in for these client scopes, None for none."""
        if not self.scopes:
            return self
        return None if scopes.isdisjoint(self.scopes) else replace(self, scopes=())


@dataclass(frozen=True, slots=True)
class ProfileAttribute:
    """One attribute that the profile names."""

    name: str
    multivalued: bool = False
    required: Required | None = None
    view: frozenset[Viewer] = frozenset()
    edit: frozenset[Viewer] = frozenset()
    checks: tuple[Check, ...] = ()
    default_value: str | None = None
    scopes: tuple[str, ...] = ()
    """Client scopes: users are asked for it only in sign-ins for one of them; empty: in all."""
    display: AttributeDisplay = PLAIN

    def is_shown_to(self, viewer: Viewer) -> bool:
        """Tell whether the viewer sees it; who may change it does."""
        return viewer in self.view or viewer in self.edit

    def requested_with(self, scopes: frozenset[str]) -> Self:
        """Return the attribute as it is in a sign-in for these client scopes.

        An attribute that the sign-in does not ask for is neither shown nor changed.
        """
        if self.scopes and scopes.isdisjoint(self.scopes):
            return replace(self, view=frozenset(), edit=frozenset(), required=None)
        if self.required is None or not self.required.scopes:
            return self
        return replace(self, required=self.required.requested_with(scopes))


@dataclass(frozen=True, slots=True)
class UserProfile:
    """The attributes by name, in their order."""

    attributes: Mapping[str, ProfileAttribute] = field(default_factory=dict)
    unmanaged: UnmanagedPolicy | None = None

    def shows_unmanaged(self, viewer: Viewer) -> bool:
        """Tell whether the viewer sees attributes that the profile does not name."""
        if viewer is Viewer.USER:
            return self.unmanaged is UnmanagedPolicy.ENABLED
        return self.unmanaged is not None

    def _shows_unnamed(self, name: str, viewer: Viewer) -> bool:
        is_own = viewer is Viewer.ADMIN and name in _WRITTEN_BY_ACTIONS
        return is_own or self.shows_unmanaged(viewer)

    def takes_unmanaged(self, viewer: Viewer) -> bool:
        """Tell whether the viewer may set them."""
        if viewer is Viewer.USER:
            return self.unmanaged is UnmanagedPolicy.ENABLED
        return self.unmanaged in {UnmanagedPolicy.ENABLED, UnmanagedPolicy.ADMIN_EDIT}

    def requested_with(self, scopes: frozenset[str]) -> Self:
        """Return the profile as it is in a sign-in for these client scopes."""
        attributes = {
            name: attribute.requested_with(scopes) for name, attribute in self.attributes.items()
        }
        return replace(self, attributes=attributes)

    def shows(self, name: str, viewer: Viewer) -> bool:
        """Tell whether the viewer sees a root, such as `firstName`."""
        return name in self.attributes and self.attributes[name].is_shown_to(viewer)

    def shown(self, attributes: Values, viewer: Viewer) -> Values:
        """Return those of a user's attributes that the viewer sees, roots left out."""
        return {
            name: values
            for name, values in attributes.items()
            if name not in ROOTS
            and (
                self.attributes[name].is_shown_to(viewer)
                if name in self.attributes
                else self._shows_unnamed(name, viewer)
            )
        }
