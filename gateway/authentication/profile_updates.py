"""Updates of a user's own profile and e-mail address, by the rules of the realm.

Keycloak: 16.1 required actions, 17.2 profile, UpdateEmail
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from gateway.authentication.account_updates import (
    AccountUpdate,
    AccountUpdates,
    notify_previous_address,
)
from gateway.authentication.action_tokens import NotSent
from gateway.authentication.engine.proofs import current_password_mark
from gateway.authentication.realm_profile import (
    LANGUAGE,
    locked_names,
    own_locked_names,
    requested_profile,
)
from gateway.authentication.unique_names import (
    NameTaken,
    named_by_address,
    own_name_violations,
    require_free_names,
)
from gateway.domain.authentication import ActionToken, ProfileField
from gateway.domain.errors import InvalidInput, RealmgateError
from gateway.domain.events import Detail
from gateway.domain.flows import UPDATE_EMAIL, VERIFY_EMAIL
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import Stores
from gateway.domain.user_profile import (
    EMAIL,
    PENDING_EMAIL,
    USERNAME,
    ProfileAttribute,
    Sent,
    UserProfile,
    Values,
    Viewer,
    Violation,
    cleaned,
    merged,
    values_of,
    with_values,
)
from gateway.domain.users import User, canonical_name
from gateway.representations.accounts import OwnValues
from gateway.representations.users import require_storable

LONGEST_VALUE: Final = 2048
MOST_VALUES: Final = 100
_CANONICAL: Final = frozenset({USERNAME, EMAIL})
_REQUIRED: Final = "error-user-attribute-required"
_READ_ONLY: Final = "error-user-attribute-read-only"
_TAKEN: Final[Mapping[str, str]] = {USERNAME: "usernameExistsMessage", EMAIL: "emailExistsMessage"}
_UNSTORABLE: Final[Mapping[str, str]] = {EMAIL: "error-invalid-email"}
Texts = Mapping[str, str]
"""What a form sent, by name of the attribute; several values in lines."""


class ProfileRejected(RealmgateError):
    """The values break rules of the user profile."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        super().__init__("the values break rules of the user profile")
        self.violations = tuple(dict.fromkeys(violations))


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """The user before and after a change."""

    before: User
    after: User

    @property
    def details(self) -> dict[str, str]:
        """Address and names before and after, for an event; other attributes are not for events."""
        before, after = self.before, self.after
        changes = (
            (Detail.PREVIOUS_USERNAME, before.username, Detail.UPDATED_USERNAME, after.username),
            (Detail.PREVIOUS_EMAIL, before.email, Detail.UPDATED_EMAIL, after.email),
            (
                Detail.PREVIOUS_FIRST_NAME,
                before.first_name,
                Detail.UPDATED_FIRST_NAME,
                after.first_name,
            ),
            (
                Detail.PREVIOUS_LAST_NAME,
                before.last_name,
                Detail.UPDATED_LAST_NAME,
                after.last_name,
            ),
        )
        found: dict[str, str] = {}
        for previous, old, updated, new in changes:
            if old != new:
                found |= {name: text for name, text in ((previous, old), (updated, new)) if text}
        return found


@dataclass(frozen=True, slots=True)
class OwnProfile:
    """The profile as users themselves see it in a sign-in for certain client scopes."""

    entry: RealmEntry
    scopes: frozenset[str] = frozenset()
    is_new: bool = False
    """The user registers: what they may not set is not shown, and the user name is theirs."""
    unlocks_email: bool = False
    """The form is one that may change the address, where others may not."""

    def fields(
        self, user: User | None, sent: Texts | None = None, violations: Sequence[Violation] = ()
    ) -> tuple[ProfileField, ...]:
        """Return the fields of a form; what was `sent` is shown in those that may be changed.

        A user who registers is None.
        """
        known = ({} if user is None else values_of(user)) | self._given(sent or {})
        return tuple(
            ProfileField(
                name=attribute.name,
                display=attribute.display,
                values=known.get(attribute.name, ()),
                violations=tuple(one for one in violations if one.field == attribute.name),
                required=self._is_required(attribute),
                read_only=not self._may_change(attribute),
                multivalued=attribute.multivalued,
            )
            for attribute in self._shown()
        )

    def changed(self, before: User, sent: Texts, matches: PatternMatches) -> User:
        """Return the changed user; raises ProfileRejected and MatchesPending."""
        return self._changed(before, Sent(self._given(sent)), matches)

    def replaced(self, before: User, sent: OwnValues, matches: PatternMatches) -> User:
        """Return the user with the values of a document, and without those that it leaves out.

        What the user is not shown stays. Raises ProfileRejected and MatchesPending.
        """
        known, rules = values_of(before), self._rules
        shown = {
            name: self._canonical(name, values)
            for name, values in sent.values.items()
            if rules.shows_attribute(name, Viewer.USER) and name not in self._ignored
        }
        if not sent.with_attributes:
            free = {name: known[name] for name in known if name not in rules.attributes}
            shown = free | shown
        return self._changed(before, Sent(shown, whole=True), matches)

    def values(self, user: User) -> Values:
        """Return what the user is shown of the own values."""
        rules = self._rules
        return {
            name: values
            for name, values in values_of(user).items()
            if rules.shows_attribute(name, Viewer.USER)
        }

    @property
    def may_change_email(self) -> bool:
        """Whether the user may change the address."""
        attribute = self._rules.attributes.get(EMAIL)
        return attribute is not None and Viewer.USER in attribute.edit

    def with_email(self, before: User, address: str, matches: PatternMatches) -> User:
        """Return the user with another address, and with nothing else changed.

        Raises ProfileRejected for what is wrong with the address, also where the user may not
        change it any more, and MatchesPending.
        """
        if not self.may_change_email:
            raise ProfileRejected([Violation(EMAIL, _READ_ONLY, (EMAIL,))])
        made, violations = self._merged(before, Sent(self._given({EMAIL: address})), matches)
        rejected = [violation for violation in violations if violation.field == EMAIL]
        if rejected:
            raise ProfileRejected(rejected)
        return self._storable(before, replace(before, email=next(iter(made.get(EMAIL, ())), None)))

    def _changed(self, before: User, sent: Sent, matches: PatternMatches) -> User:
        made, violations = self._merged(before, sent, matches)
        if violations:
            raise ProfileRejected(violations)
        name = {USERNAME: made[EMAIL]} if self._follows_email else {}
        return self._storable(before, with_values(before, {**made, **name}))

    def _merged(
        self, before: User, sent: Sent, matches: PatternMatches
    ) -> tuple[Values, tuple[Violation, ...]]:
        """Return the values after a change, and what is wrong with them."""
        known = values_of(before)
        stored = None if self.is_new else known
        made = merged(self._rules, sent, stored, self._locked, matches, viewer=Viewer.USER)
        matches.require_decided()
        missing = (
            Violation(attribute.name, _REQUIRED, (attribute.name,))
            for attribute in self._shown()
            if self._is_required(attribute) and attribute.name not in made.values
        )
        return made.values, (*made.violations, *missing, *_beyond_limits(sent.values, known))

    @staticmethod
    def _canonical(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
        if name not in _CANONICAL:
            return values
        return tuple(canonical_name(text.strip()) for text in values)

    def violation_of(self, taken: NameTaken) -> Violation:
        """Return the violation for a name that another user has."""
        return Violation(self._field_of(taken.attribute), _TAKEN[taken.attribute])

    @property
    def _rules(self) -> UserProfile:
        return requested_profile(self.entry, self.scopes)

    @property
    def _locked(self) -> frozenset[str]:
        if self.is_new:
            return frozenset({USERNAME}) if self._has_email_as_username else frozenset()
        if self.unlocks_email:
            return locked_names(self.entry.realm.login)
        return own_locked_names(self.entry)

    @property
    def _ignored(self) -> frozenset[str]:
        """What documents of users may have and change nothing: a name that is the address."""
        return frozenset({USERNAME} if self._has_email_as_username else ())

    @property
    def _follows_email(self) -> bool:
        """Whether the user name of a user who registers is the address."""
        return self.is_new and self._has_email_as_username

    @property
    def _has_email_as_username(self) -> bool:
        return self.entry.realm.login.registration_email_as_username

    def _shown(self) -> Iterator[ProfileAttribute]:
        for attribute in self._rules.attributes.values():
            follows = self._has_email_as_username and attribute.name == USERNAME
            shown = (
                self._may_change(attribute) if self.is_new else attribute.is_shown_to(Viewer.USER)
            )
            if shown and not follows and attribute is not LANGUAGE:
                yield attribute

    def _may_change(self, attribute: ProfileAttribute) -> bool:
        may_set = Viewer.USER in attribute.edit or (self.is_new and attribute.name == USERNAME)
        return may_set and attribute.name not in self._locked

    def _is_required(self, attribute: ProfileAttribute) -> bool:
        if not self._may_change(attribute):
            return False
        if attribute.name == USERNAME or (attribute.name == EMAIL and self._has_email_as_username):
            return True
        return attribute.required is not None and attribute.required.of(Viewer.USER)

    def _given(self, sent: Texts) -> dict[str, tuple[str, ...]]:
        return {
            attribute.name: _submitted_values(attribute, sent[attribute.name])
            for attribute in self._shown()
            if attribute.name in sent and self._may_change(attribute)
        }

    def _field_of(self, name: str) -> str:
        return EMAIL if self._has_email_as_username and name == USERNAME else name

    def _storable(self, before: User, after: User) -> User:
        """Return the user with the fields that follow the address.

        Raises ProfileRejected for names and addresses that cannot be stored, or that users may not
        choose: every change by a user passes here.
        """
        if after.email != before.email:
            after = replace(after, email_verified=False)
        after = named_by_address(self.entry.realm.login, after)
        if after == before:
            return after
        try:
            require_storable(after)
        except InvalidInput as refusal:
            names = [self._field_of(error.path) for error in refusal.errors]
            raise ProfileRejected(
                Violation(name, _UNSTORABLE.get(name, "error-invalid-value"), (name,))
                for name in names
            ) from refusal
        own = own_name_violations(self.entry.realm, after, before, is_new=self.is_new)
        if own:
            raise ProfileRejected(replace(one, field=self._field_of(one.field)) for one in own)
        return after


class _AttributeChange(Protocol):
    def __call__(self, before: User, *, matches: PatternMatches) -> User: ...


class ProfileUpdates:
    """Stores what users change of their own profile.

    Only attributes that the user is shown, and may change, are taken from a form; all others stay.
    A document replaces all that the user may change. A new e-mail address is not verified.
    Keycloak: 16.1 required actions, 17.2 profile
    """

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def store(
        self, profile: OwnProfile, user_id: str, sent: Texts, *, performed: str | None = None
    ) -> ProfileChange:
        """Store the values of a form; `performed` is the alias of the required action, if any.

        Raises ProfileRejected, InvalidUserCredentials for a removed user, and StoreUnavailable.
        """
        change = partial(profile.changed, sent=sent)
        attempt = partial(self._attempt, profile, user_id, change, performed)
        return await repeat_while_pending(attempt)

    async def replace(self, profile: OwnProfile, user_id: str, sent: OwnValues) -> ProfileChange:
        """Store the values of a document; raises what `store` does."""
        change = partial(profile.replaced, sent=sent)
        return await repeat_while_pending(partial(self._attempt, profile, user_id, change, None))

    async def _attempt(
        self,
        profile: OwnProfile,
        user_id: str,
        change: _AttributeChange,
        performed: str | None,
        matches: PatternMatches,
    ) -> ProfileChange:
        realm = profile.entry.realm
        async with self._updates.begin_update(realm.id, user_id) as update:
            after = change(update.user, matches=matches)
            try:
                await require_free_names(update.stores, realm, after, update.user)
            except NameTaken as taken:
                raise ProfileRejected([profile.violation_of(taken)]) from taken
            await update.replace(after, performed=performed)
            await notify_previous_address(update, realm, after)
        return ProfileChange(update.user, after)


def _submitted_values(attribute: ProfileAttribute, text: str) -> tuple[str, ...]:
    text = text.replace("\r\n", "\n")
    if attribute.multivalued:
        return cleaned(line.strip() for line in text.split("\n"))
    if attribute.name in _CANONICAL:
        return cleaned([canonical_name(text.strip())])
    return cleaned([text])


def _beyond_limits(given: Values, known: Values) -> Iterator[Violation]:
    """Yield the attributes with more than a form may store, whatever the profile allows."""
    for name, values in given.items():
        if values == known.get(name, ()):
            continue
        if len(values) > MOST_VALUES:
            yield Violation(name, "error-invalid-multivalued-size", (name, 0, MOST_VALUES))
        if any(len(value) > LONGEST_VALUE for value in values):
            yield Violation(name, "error-invalid-length", (name, 0, LONGEST_VALUE))


QueueMail = Callable[[Stores, str], Awaitable[NotSent | None]]
"""Puts the mail to an address into the queue of a transaction."""


class LinkEnded(Exception):
    """The address that the link was sent to is not waited for any more."""


def pending_email(user: User) -> str | None:
    """Return the address that waits for its link."""
    return next(iter(user.attributes.get(PENDING_EMAIL, ())), None)


class EmailUpdates:
    """Changes addresses.

    Methods raise ProfileRejected for what is wrong with the address, SignInRefused for a user who
    was removed or disabled, and StoreUnavailable.

    The address that waits for its link is the user attribute `kc.email.pending`: a later request,
    and an administrator who removes it, end the link. So do another password, a user who ends
    sessions, and the end of the session that the link was asked for in: an attacker with the
    account for a moment must not regain it by an older link.
    Keycloak: UpdateEmail, 16.1 required actions
    """

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def store_address(self, profile: OwnProfile, user_id: str, address: str) -> ProfileChange:
        """Change the address at once; a new one is not verified."""
        attempt = partial(self._store, profile, user_id, address)
        return await repeat_while_pending(attempt)

    async def request(
        self, profile: OwnProfile, user_id: str, address: str, queue_mail: QueueMail
    ) -> tuple[str, NotSent | None]:
        """Send a link to the address as it would be stored; return it, and why no mail is sent."""
        attempt = partial(self._request, profile, user_id, address, queue_mail)
        return await repeat_while_pending(attempt)

    async def confirm(self, profile: OwnProfile, token: ActionToken) -> ProfileChange:
        """Change the address to that of a link, which has verified it; raises LinkEnded."""
        return await repeat_while_pending(partial(self._confirm, profile, token))

    async def cancel(self, realm_id: str, user_id: str) -> None:
        """End the link that waits, if any."""
        async with self._updates.begin_update(realm_id, user_id) as update:
            await update.replace(without_pending_email(update.user))

    async def _store(
        self, profile: OwnProfile, user_id: str, address: str, matches: PatternMatches
    ) -> ProfileChange:
        async with self._updates.begin_update(profile.entry.realm.id, user_id) as update:
            after = await _changed_address(profile, update, address, matches)
            await update.replace(without_pending_email(after), performed=UPDATE_EMAIL)
            await notify_previous_address(update, profile.entry.realm, after)
        return ProfileChange(update.user, after)

    async def _request(
        self,
        profile: OwnProfile,
        user_id: str,
        address: str,
        queue_mail: QueueMail,
        matches: PatternMatches,
    ) -> tuple[str, NotSent | None]:
        async with self._updates.begin_update(profile.entry.realm.id, user_id) as update:
            wanted = (await _changed_address(profile, update, address, matches)).email or ""
            failure = await queue_mail(update.stores, wanted)
            if failure is None:
                attributes = {**update.user.attributes, PENDING_EMAIL: (wanted,)}
                await update.replace(replace(update.user, attributes=attributes))
        return wanted, failure

    async def _confirm(
        self, profile: OwnProfile, token: ActionToken, matches: PatternMatches
    ) -> ProfileChange:
        address = token.new_email or ""
        async with self._updates.begin_update(profile.entry.realm.id, token.user_id) as update:
            before = update.user
            if before.email != token.email or pending_email(before) != address:
                raise LinkEnded
            if token.password != await current_password_mark(update.stores, before):
                raise LinkEnded
            after = await _changed_address(profile, update, address, matches)
            left = tuple(one for one in after.required_actions if one != VERIFY_EMAIL)
            verified = replace(after, email_verified=True, required_actions=left)
            await update.replace(without_pending_email(verified), performed=UPDATE_EMAIL)
            await notify_previous_address(update, profile.entry.realm, verified)
        return ProfileChange(before, verified)


async def _changed_address(
    profile: OwnProfile, update: AccountUpdate, address: str, matches: PatternMatches
) -> User:
    after = profile.with_email(update.user, address, matches)
    try:
        await require_free_names(update.stores, profile.entry.realm, after, update.user)
    except NameTaken as taken:
        raise ProfileRejected([profile.violation_of(taken)]) from taken
    return after


def without_pending_email(user: User) -> User:
    """Return the user without the address that waits: its link has no effect any more."""
    others = {name: values for name, values in user.attributes.items() if name != PENDING_EMAIL}
    return replace(user, attributes=others)
