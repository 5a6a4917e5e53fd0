"""The user profile of a realm: attributes, who may see and change each, merging of sent ones.

Blank values count as none. Where `attributes` came as a whole, what is missing in it goes, e-mail
address and names among it; what the profile does not name stays as it is unless its policy lets an
administrator set it. Users change what the profile allows them to, and nothing else. Texts of forms
are literal, or have keys of message texts in the form `${key}`.
Keycloak: the declarative user profile: UPConfig, without its groups; 0.2 error bodies, 16.1
required actions, 7.2 (PUT users/{id}), DefaultAttributes, 26.7
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

from gateway.domain.limits.patterns import PatternMatches, matches_at_once
from gateway.domain.users import User

Parameter = str | int | float | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ProfileFinding:
    """A key of Keycloak's messages, and the parameters of the message after the attribute."""

    message: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A finding about the attribute `field`."""

    field: str
    message: str
    parameters: tuple[Parameter, ...] = ()
    """The attribute itself first."""


Check = Callable[[Sequence[str], PatternMatches], ProfileFinding | None]
"""Checks all values of an attribute; blank ones have been removed.

The second argument does the matches of patterns, for all attributes of the evaluation.
"""


def each(check: Callable[[str], ProfileFinding | None]) -> Check:
    """Return the check of a list by that of one value: what is wrong with the first wrong one."""

    def check_all(values: Sequence[str], _matches: PatternMatches) -> ProfileFinding | None:
        found = (check(value) for value in values)
        return next((finding for finding in found if finding is not None), None)

    return check_all


class InputType(StrEnum):
    """The kind of field, by Keycloak's names; other types are displayed as text."""

    TEXT = "text"
    TEXTAREA = "textarea"
    SELECT = "select"
    EMAIL = "html5-email"
    TELEPHONE = "html5-tel"
    URL = "html5-url"


@dataclass(frozen=True, slots=True)
class Option:
    """A value to choose, and its text."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class AttributeDisplay:
    """What is displayed for one attribute; an empty label is the name of the attribute."""

    label: str = ""
    input_type: InputType = InputType.TEXT
    options: tuple[Option, ...] = ()
    hint: str = ""


PLAIN: Final = AttributeDisplay()


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
    """Who must have a value: the roles, or all; with `scopes` only in sign-ins for one."""

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
        """Return the attribute in a sign-in for these scopes; not shown if not asked for."""
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
    inactive: frozenset[str] = frozenset()
    """Attributes that the realm does not use: never displayed or changed; stored values remain."""

    def shows_unmanaged(self, viewer: Viewer) -> bool:
        """Tell whether the viewer sees attributes that the profile does not name."""
        if viewer is Viewer.USER:
            return self.unmanaged is UnmanagedPolicy.ENABLED
        return self.unmanaged is not None

    def shows_attribute(self, name: str, viewer: Viewer) -> bool:
        """Tell whether the viewer sees an attribute, declared or not."""
        if name in self.attributes:
            return self.attributes[name].is_shown_to(viewer)
        if name in self.inactive:
            return False
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
            if name not in ROOTS and self.shows_attribute(name, viewer)
        }


LONGEST_UNMANAGED: Final = 2048
_OF_THE_STORE: Final = frozenset(
    {"ldap_id", "ldap_entry_dn", "created_timestamp", "createtimestamp", "modifytimestamp"}
)
"""Attributes that only a user federation sets, in lower case."""
_NOT_FOR_USERS: Final = _OF_THE_STORE | {
    *("disabledreason", "email_verified", "enabled", "kerberos_principal", "usercertificate"),
    PENDING_EMAIL,
}
"""Attributes that users do not change of themselves, in lower case. Keycloak: 17.2 profile;
**here** the address that waits for its link too.
"""
_NAME_IDS: Final = "saml.persistent.name.id.for."


@dataclass(frozen=True, slots=True)
class Sent:
    """The values that were sent by name, and whether as a whole."""

    values: Values
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """All values that the user has then, and why it must not be."""

    values: Values
    violations: tuple[Violation, ...]


def merged(
    profile: UserProfile,
    sent: Sent,
    before: Values | None,
    locked: frozenset[str] = frozenset(),
    matches: PatternMatches | None = None,
    *,
    viewer: Viewer = Viewer.ADMIN,
) -> Merged:
    """Return what becomes of a user's values; `before` is None for a new user.

    `viewer` sends them. `locked` are attributes that are never changed, whatever the profile says.
    `matches` may leave some pending, and then the result is to be thrown away; without it all are
    done at once.
    """
    merging = _Merging(profile, sent, before, locked, matches or matches_at_once(), viewer=viewer)
    return Merged(merging.values, tuple(dict.fromkeys(merging.violations)))


def demands(
    profile: UserProfile,
    values: Values,
    viewer: Viewer,
    locked: frozenset[str] = frozenset(),
    matches: PatternMatches | None = None,
) -> Iterator[Violation]:
    """Yield what the viewer, who may change them, has to change about the values."""
    matches = matches or matches_at_once()
    for attribute in profile.attributes.values():
        may_change = viewer in attribute.edit and attribute.name not in locked
        if may_change:
            given = cleaned(values.get(attribute.name, ()))
            yield from _judged(attribute, given, viewer, matches)


def cleaned(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values that are not blank."""
    return tuple(value for value in values if value.strip())


def values_of(user: User) -> dict[str, tuple[str, ...]]:
    """Return all values of a user."""
    roots = (user.username, user.email, user.first_name, user.last_name)
    named = zip(ROOTS, roots, strict=True)
    return {**user.attributes, **{name: (value,) for name, value in named if value}}


def with_values(user: User, values: Values) -> User:
    """Return the user with these values and no others."""
    roots = {name: values[name][0] if values.get(name) else None for name in ROOTS}
    return replace(
        user,
        username=values[USERNAME][0],
        email=roots[EMAIL],
        first_name=roots[FIRST_NAME],
        last_name=roots[LAST_NAME],
        attributes={name: texts for name, texts in values.items() if name not in ROOTS},
    )


class _Merging:
    def __init__(
        self,
        profile: UserProfile,
        sent: Sent,
        before: Values | None,
        locked: frozenset[str],
        matches: PatternMatches,
        *,
        viewer: Viewer,
    ) -> None:
        self._sent = sent
        self._viewer = viewer
        self._before: Mapping[str, tuple[str, ...]] = before or {}
        self._is_new = before is None
        self._locked = locked
        self._matches = matches
        self.values: dict[str, tuple[str, ...]] = {}
        self.violations: list[Violation] = []
        for attribute in profile.attributes.values():
            self._keep(attribute.name, self._managed(attribute))
        for name in {**self._before, **sent.values}:
            if name not in profile.attributes:
                self._keep(name, self._unmanaged(profile, name))

    def _keep(self, name: str, values: tuple[str, ...]) -> None:
        if values:
            self.values[name] = values

    def _managed(self, attribute: ProfileAttribute) -> tuple[str, ...]:
        name = attribute.name
        if not self._may_change(attribute):
            return self._unchanged(name)
        values = self._given(name) or _standard(attribute)
        self.violations += _judged(attribute, values, self._viewer, self._matches)
        return values

    def _may_change(self, attribute: ProfileAttribute) -> bool:
        if attribute.name in self._locked:
            return False
        return self._viewer in attribute.edit or (self._is_new and attribute.name == USERNAME)

    def _unchanged(self, name: str) -> tuple[str, ...]:
        before = self._before.get(name, ())
        sent = self._sent.values.get(name)
        if not self._is_new and sent is not None and cleaned(sent) != cleaned(before):
            self._refuse(name, "error-user-attribute-read-only")
        return before

    def _given(self, name: str) -> tuple[str, ...]:
        sent = self._sent.values.get(name)
        if sent is not None:
            return cleaned(sent)
        goes = self._sent.whole and name != USERNAME
        return () if goes else self._before.get(name, ())

    def _unmanaged(self, profile: UserProfile, name: str) -> tuple[str, ...]:
        before = self._before.get(name, ())
        if name in profile.inactive or not profile.takes_unmanaged(self._viewer):
            return before
        values = self._given(name)
        if self._is_fixed(name):
            if self._viewer is Viewer.USER and name not in self._sent.values:
                return before
            if values != before:
                self._refuse(name, "updateReadOnlyAttributesRejectedMessage")
        is_new = values != before or self._viewer is Viewer.ADMIN
        if is_new and any(len(value) > LONGEST_UNMANAGED for value in values):
            self._refuse(name, "error-invalid-length", 0, LONGEST_UNMANAGED)
        return values

    def _is_fixed(self, name: str) -> bool:
        if self._viewer is Viewer.ADMIN:
            return name.lower() in _OF_THE_STORE
        return name.lower() in _NOT_FOR_USERS or name.lower().startswith(_NAME_IDS)

    def _refuse(self, name: str, message: str, *parameters: int) -> None:
        self.violations.append(Violation(name, message, (name, *parameters)))


def _standard(attribute: ProfileAttribute) -> tuple[str, ...]:
    return () if attribute.default_value is None else cleaned([attribute.default_value])


def _judged(
    attribute: ProfileAttribute,
    values: tuple[str, ...],
    viewer: Viewer,
    matches: PatternMatches,
) -> Iterator[Violation]:
    name = attribute.name
    if not values and attribute.required is not None and attribute.required.of(viewer):
        yield Violation(name, "error-user-attribute-required", (name,))
    for check in attribute.checks:
        finding = check(values, matches)
        if finding is not None:
            yield Violation(name, finding.message, (name, *finding.parameters))
