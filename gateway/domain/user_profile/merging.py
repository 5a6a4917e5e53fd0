"""What a profile makes of attributes that are sent: kept, replaced or refused.

Blank values count as none. Where `attributes` came as a whole, what is missing in it goes, e-mail
address and names among it; what the profile does not name stays as it is unless its policy lets
an administrator set it. Users change what the profile allows them to, and nothing else.
Keycloak: 7.2 (PUT users/{id}), DefaultAttributes, 26.7
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.domain.limits.patterns import PatternMatches, matches_at_once
from gateway.domain.user_profile.findings import Violation
from gateway.domain.user_profile.profile import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PENDING_EMAIL,
    ROOTS,
    USERNAME,
    ProfileAttribute,
    UserProfile,
    Values,
    Viewer,
)
from gateway.domain.users import User

LONGEST_UNMANAGED: Final = 2048
_OF_THE_STORE: Final = frozenset(
    {"ldap_id", "ldap_entry_dn", "created_timestamp", "createtimestamp", "modifytimestamp"}
)
"""Attributes that only a user federation sets, in lower case."""
_NOT_FOR_USERS: Final = _OF_THE_STORE | {
    *("disabledreason", "email_verified", "enabled", "kerberos_principal", "usercertificate"),
    PENDING_EMAIL,
}
"""Attributes that users do not change of themselves, in lower case. Keycloak: 17.2; **here** the
address that waits for its link too.
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
        if not profile.takes_unmanaged(self._viewer):
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
