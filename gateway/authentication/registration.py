"""Registration of users: the page, its form actions, the confirmed address, the new account.

Keycloak: RegistrationPage, RegistrationUserCreation, FormAction (26.7); attacks: D10
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final, Protocol
from uuid import uuid4

from gateway.authentication.accounts import Account
from gateway.authentication.engine.proofs import note_password
from gateway.authentication.engine.results import AccountChange, AccountChanges
from gateway.authentication.engine.sign_in import (
    Authenticator,
    AuthenticatorOutcome,
    Config,
    Form,
    Result,
    SignInAttempt,
)
from gateway.authentication.new_users import (
    NewUser,
    default_actions,
    default_role_ids,
    store_new_users,
)
from gateway.authentication.passwords import PasswordChanges, PreparedPassword, require_hashable
from gateway.authentication.profile_updates import OwnProfile, ProfileRejected
from gateway.authentication.required_actions.profile import verification_mail, with_accepted_terms
from gateway.authentication.unique_names import FreeNames, NameTaken, require_free_names
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.errors import RealmgateError
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import (
    REGISTRATION_FORM,
    REGISTRATION_PASSWORD,
    REGISTRATION_TERMS,
    TERMS_AND_CONDITIONS,
    USER_CREATION,
    VERIFY_EMAIL,
)
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.limits.rate_limits import REGISTRATIONS, RateLimiter, caller_of
from gateway.domain.mail import MailKind, QueuedMail, user_mail
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.unique_names import name_key
from gateway.domain.user_profile import EMAIL, FIRST_NAME, LAST_NAME, USERNAME, Violation
from gateway.domain.users import PRIORITY_STEP, Credential, User
from gateway.password_policies import PasswordRefused


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A new account; `performed` are required actions that the form has made needless."""

    user: User
    password: PreparedPassword | None = None
    performed: frozenset[str] = frozenset()


class FormRejected(RealmgateError):
    """The form is shown again: `violations` of attributes, or one message about a field.

    `event_error` is the error of the event.
    """

    def __init__(
        self,
        message: str,
        arguments: tuple[str, ...] = (),
        *,
        field: str | None = None,
        violations: Sequence[Violation] = (),
        event_error: str = EventError.INVALID_REGISTRATION,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.arguments = arguments
        self.field = field
        self.violations = tuple(violations)
        self.event_error = event_error

    def on(self, challenge: Challenge) -> Challenge:
        """Return the form with the message."""
        return replace(
            challenge,
            message=self.message,
            message_arguments=self.arguments,
            is_error=True,
            error_field=self.field,
        )


class FormAction(Protocol):
    """One part of a form.

    The parts take the form one after the other. Each adds to the draft of the new account, or
    refuses the form; only what all of them have accepted is stored. Keycloak: FormAction,
    FormAuthenticationFlow (26.7)
    """

    id: ClassVar[str]

    def show(
        self,
        sign_in: SignInAttempt,
        form: Challenge,
        sent: Form | None,
        violations: Sequence[Violation],
    ) -> Challenge:
        """Return the form with the fields of this part; `sent` are the refused values."""
        ...

    async def apply(self, sign_in: SignInAttempt, draft: NewAccount, sent: Form) -> NewAccount:
        """Return the draft with the submitted values; raises FormRejected, Overloaded."""
        ...


def profile_rejected(
    violations: Sequence[Violation], event_error: str = EventError.INVALID_REGISTRATION
) -> FormRejected:
    """Return the refusal of attributes, each with its own message."""
    message = MessageKey.INVALID_PROFILE
    return FormRejected(message, violations=violations, event_error=event_error)


_PASSWORD_FIELD: Final = "password"  # noqa: S105 - the name of a field
_CONFIRMATION_FIELD: Final = "password-confirm"


class RegistrationPassword:
    """`registration-password-action`: the password of the new user, twice.

    Fields `password` and `password-confirm`. Keycloak: RegistrationPassword (26.7)
    """

    id: ClassVar = REGISTRATION_PASSWORD

    def __init__(self, passwords: PasswordChanges) -> None:
        self._passwords = passwords

    def show(
        self,
        sign_in: SignInAttempt,
        form: Challenge,
        sent: Form | None,
        violations: Sequence[Violation],
    ) -> Challenge:
        del sign_in, sent, violations
        return replace(form, asks_password=True)

    async def apply(self, sign_in: SignInAttempt, draft: NewAccount, sent: Form) -> NewAccount:
        given = sent.get(_PASSWORD_FIELD, "")
        if not given.strip():
            raise FormRejected(MessageKey.MISSING_PASSWORD, field=_PASSWORD_FIELD)
        if given != sent.get(_CONFIRMATION_FIELD, ""):
            raise FormRejected(MessageKey.INVALID_PASSWORD_CONFIRM, field=_CONFIRMATION_FIELD)
        password = Secret(given)
        try:
            require_hashable(password)
            made = await self._passwords.prepare(sign_in.realm, draft.user, (), password)
        except PasswordRefused as refusal:
            raise FormRejected(refusal.key, refusal.arguments, field=_PASSWORD_FIELD) from refusal
        return replace(draft, password=made)


_TERMS_FIELD: Final = "termsAccepted"


class RegistrationTerms:
    """`registration-terms-and-conditions`: the new user accepts the terms of the realm.

    Field `termsAccepted`. The instant is kept as by the required action TERMS_AND_CONDITIONS, which
    the user does not have to perform again. Keycloak: RegistrationTermsAndConditions (26.7)
    """

    id: ClassVar = REGISTRATION_TERMS

    def show(
        self,
        sign_in: SignInAttempt,
        form: Challenge,
        sent: Form | None,
        violations: Sequence[Violation],
    ) -> Challenge:
        del sign_in, sent, violations
        return replace(form, asks_terms=True)

    async def apply(self, sign_in: SignInAttempt, draft: NewAccount, sent: Form) -> NewAccount:
        if _TERMS_FIELD not in sent:
            raise FormRejected(MessageKey.TERMS_REQUIRED, field=_TERMS_FIELD)
        user = with_accepted_terms(draft.user, sign_in.now)
        return replace(draft, user=user, performed=draft.performed | {TERMS_AND_CONDITIONS})


class UserCreationAction:
    """`registration-user-creation`: the attributes of the user profile.

    Asks for the attributes that users may set, and checks them.

    Keycloak: RegistrationUserCreation (26.7)
    """

    id: ClassVar = USER_CREATION

    def show(
        self,
        sign_in: SignInAttempt,
        form: Challenge,
        sent: Form | None,
        violations: Sequence[Violation],
    ) -> Challenge:
        return replace(form, profile=_own_profile(sign_in).fields(None, sent, violations))

    async def apply(self, sign_in: SignInAttempt, draft: NewAccount, sent: Form) -> NewAccount:
        attempt = partial(_changed_profile, _own_profile(sign_in), draft.user, sent)
        try:
            return replace(draft, user=await repeat_while_pending(attempt))
        except ProfileRejected as rejected:
            raise profile_rejected(rejected.violations) from rejected


async def _changed_profile(
    profile: OwnProfile, user: User, sent: Form, matches: PatternMatches
) -> User:
    return profile.changed(user, sent, matches)


def _own_profile(sign_in: SignInAttempt) -> OwnProfile:
    return OwnProfile(sign_in.context.realm, sign_in.scopes, is_new=True)


def form_actions(passwords: PasswordChanges) -> tuple[FormAction, ...]:
    """Return every part that acts."""
    return (
        UserCreationAction(),
        RegistrationPassword(passwords),
        RegistrationTerms(),
    )


class Registrations:
    """Stores new accounts.

    The user gets what every new user gets: the default role, default groups and default actions.
    Keycloak: RegistrationUserCreation (26.7)
    """

    def __init__(self, database: Database, limiter: RateLimiter) -> None:
        self._database = database
        self._limiter = limiter

    async def admit(self, realm_id: str, address: str) -> None:
        """Count a registration; raises FormRejected beyond the limit, and StoreUnavailable.

        Forms that break a rule are not counted: people correct them.
        """
        if not await self._limiter.admit(realm_id, REGISTRATIONS, caller_of(address)):
            message, error = MessageKey.TOO_MANY_REGISTRATIONS, EventError.SLOW_DOWN
            raise FormRejected(message, event_error=error)

    async def store_account(
        self, realm: Realm, draft: NewAccount, *, name_first: bool = False
    ) -> Account:
        """Store the account; raises NameTaken and StoreUnavailable.

        With `name_first` a name that is taken comes before an address: whether the address is
        taken as well must not decide about the answer, nor about its time.
        """
        if name_first:
            return await self._store_alike(realm, draft)
        async with self._database.write() as stores:
            names = await require_free_names(stores, realm, draft.user)
            return await _store_registered_user(stores, realm, draft, names)

    async def _store_alike(self, realm: Realm, draft: NewAccount) -> Account:
        """Store the account; for an address that is taken do the same work (attacks: D11)."""
        user = draft.user
        async with self._database.write() as stores:
            if user.username != user.email:
                keys = [name_key(name) for name in (user.username, user.email) if name]
                await stores.users.lock_names(realm.id, keys)
                await require_free_names(stores, realm, replace(user, email=None))
            try:
                names = await require_free_names(stores, realm, user)
            except NameTaken as taken:
                refusal = taken
            else:
                return await _store_registered_user(stores, realm, draft, names)
            unnamed = replace(user, username=user.id, email=None)
            names = await require_free_names(stores, realm, unnamed)
            await _store_registered_user(stores, realm, replace(draft, user=unnamed), names)
            await stores.users.remove_user(realm.id, user.id)
        raise refusal


async def _store_registered_user(
    stores: Stores, realm: Realm, draft: NewAccount, names: FreeNames
) -> Account:
    new = await _new_user(stores, realm, draft)
    await store_new_users(stores, [new], names)
    return Account(new.user, new.credentials, new.user.id)


async def _new_user(stores: Stores, realm: Realm, draft: NewAccount) -> NewUser:
    due = await default_actions(stores, realm.id)
    actions = tuple(alias for alias in due if alias not in draft.performed)
    return NewUser(
        replace(draft.user, required_actions=actions),
        _credentials(draft),
        await default_role_ids(stores, realm),
        tuple(await stores.groups.default(realm.id)),
    )


def _credentials(draft: NewAccount) -> tuple[Credential, ...]:
    if draft.password is None:
        return ()
    return (replace(draft.password.change.current, priority=PRIORITY_STEP),)


_ADDRESS_NOTE: Final = "registered-address"
"""The note with the address that was typed, while it is not verified."""


def verifies_address(sign_in: SignInAttempt, user: User) -> bool:
    """Tell whether the address of a new user is verified first."""
    offered = sign_in.context.realm.sign_in.offers(VERIFY_EMAIL)
    return sign_in.realm.login.verify_email and offered and bool(user.email)


def awaits_confirmation(sign_in: SignInAttempt) -> bool:
    """Tell whether the form was taken, and the address is still to be verified."""
    user = sign_in.found_user
    return _ADDRESS_NOTE in sign_in.notes and not (user is not None and user.email_verified)


def was_taken(sign_in: SignInAttempt) -> bool:
    """Tell whether the form was taken before."""
    return _ADDRESS_NOTE in sign_in.notes


def confirmation_page(sign_in: SignInAttempt) -> Challenge:
    """Return the page that a mail was sent."""
    fields = {"email": sign_in.notes.get(_ADDRESS_NOTE, "")}
    return Challenge(FormName.REGISTERED, fields, MessageKey.VERIFY_EMAIL)


class Confirmations:
    """Sends the mails; both take the same time, as both find the user first (attacks: D11).

    The page is the same where the address belongs to another account: the mail then goes to the
    user of that account and says so, and no account is made (attacks: D10).
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def send_link(self, sign_in: SignInAttempt, address: str) -> Challenge:
        """Send the link to the new user of the address; raises StoreUnavailable."""
        async with self._database.write() as stores:
            user = await stores.users.find_by_email(sign_in.realm.id, address)
            failure = None
            if user is not None:
                failure = await verification_mail(sign_in, user).queue(stores, sign_in.now)
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        sign_in.record(AccountChange(EventType.SEND_VERIFY_EMAIL, {Detail.EMAIL: address}, error))
        sign_in.note(_ADDRESS_NOTE, address)
        return confirmation_page(sign_in)

    async def notify_owner(self, sign_in: SignInAttempt, address: str) -> Challenge:
        """Send a mail about the attempt to the user of the address; raises StoreUnavailable.

        The recipient is the stored address: the one that was typed may be a look-alike.
        """
        realm = sign_in.realm
        async with self._database.write() as stores:
            owner = await stores.users.find_by_email_key(realm.id, name_key(address))
            if owner is not None and owner.enabled and owner.email:
                kind = MailKind.REGISTRATION_ATTEMPT
                mail = user_mail(realm, owner, owner.email, kind, sign_in.now)
                await stores.mails.add(QueuedMail(mail, owner.id))
        sign_in.note(_ADDRESS_NOTE, address)
        return confirmation_page(sign_in)


REGISTERED: Final = "registration"
"""What proves the user who has just registered."""
_TAKEN: Final = {EMAIL: EventError.EMAIL_IN_USE, USERNAME: EventError.USERNAME_IN_USE}


class RegistrationPageForm(Authenticator):
    """`registration-page-form`: the page on which users register.

    Shows the form, and stores the account that it describes.

    Its parts are the actions of the form of the flow. Where one of them does not act, the flow
    fails. Keycloak: RegistrationPage, FormAuthenticationFlow (26.7)
    """

    id: ClassVar = REGISTRATION_FORM
    asks_everyone: ClassVar[bool] = True

    def __init__(
        self,
        actions: Sequence[FormAction],
        registrations: Registrations,
        confirmations: Confirmations,
    ) -> None:
        self._actions = {action.id: action for action in actions}
        self._registrations = registrations
        self._confirmations = confirmations

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the form; ATTEMPTED where a part of it does not act.

        After the form, SUCCEEDED once the address is verified, where the realm asks for that.
        """
        del config
        if awaits_confirmation(sign_in):
            return confirmation_page(sign_in)
        if was_taken(sign_in):
            return AuthenticatorOutcome.SUCCEEDED
        actions = self._parts(sign_in)
        return _registration_form(sign_in, actions) if actions else AuthenticatorOutcome.ATTEMPTED

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return SUCCEEDED with the new user, or the form again."""
        if was_taken(sign_in):
            return await self.authenticate(sign_in, config)
        actions = self._parts(sign_in)
        if not actions:
            return AuthenticatorOutcome.ATTEMPTED
        try:
            return await self._register(sign_in, actions, form)
        except _AddressTaken as taken:
            sign_in.account_changes = _registration_event(sign_in, form, EventError.EMAIL_IN_USE)
            sign_in.used.add(REGISTERED)
            return await self._confirmations.notify_owner(sign_in, taken.address)
        except FormRejected as rejected:
            sign_in.account_changes = _registration_event(sign_in, form, rejected.event_error)
            return rejected.on(_registration_form(sign_in, actions, form, rejected))

    def _parts(self, sign_in: SignInAttempt) -> tuple[FormAction, ...]:
        """Return the actions of the form in their order; none where one does not act."""
        [step] = [one for one in sign_in.flow.every_step() if one.authenticator == self.id]
        found = [self._actions.get(action.authenticator) for action in step.actions]
        return tuple(action for action in found if action is not None) if all(found) else ()

    async def _register(
        self, sign_in: SignInAttempt, actions: Sequence[FormAction], form: Form
    ) -> Result:
        realm = sign_in.realm
        blank = User(str(uuid4()), realm.id, "", enabled=True, created_at=sign_in.now)
        draft = NewAccount(blank)
        for action in actions:
            draft = await action.apply(sign_in, draft, form)
        await self._registrations.admit(realm.id, sign_in.context.address)
        verifies = verifies_address(sign_in, draft.user)
        account = await self._stored(sign_in, draft, verifies=verifies)
        _sign_in_registered(sign_in, account)
        sign_in.account_changes = _registration_event(sign_in, form)
        if not verifies:
            return AuthenticatorOutcome.SUCCEEDED
        return await self._confirmations.send_link(sign_in, draft.user.email or "")

    async def _stored(
        self, sign_in: SignInAttempt, draft: NewAccount, *, verifies: bool
    ) -> Account:
        try:
            return await self._registrations.store_account(
                sign_in.realm, draft, name_first=verifies
            )
        except NameTaken as taken:
            if verifies and taken.attribute == EMAIL:
                raise _AddressTaken(draft.user.email or "") from taken
            violation = OwnProfile(sign_in.context.realm).violation_of(taken)
            raise profile_rejected([violation], _TAKEN[taken.attribute]) from taken


class _AddressTaken(RealmgateError):
    """Another account has the address, which the page does not say."""

    def __init__(self, address: str) -> None:
        super().__init__("the address is taken")
        self.address = address


def _sign_in_registered(sign_in: SignInAttempt, account: Account) -> None:
    sign_in.identify(account)
    sign_in.attempted_username = sign_in.user.username
    sign_in.used.add(REGISTERED)
    if account.password is not None:
        note_password(sign_in, account.password)


def _registration_form(
    sign_in: SignInAttempt,
    actions: Sequence[FormAction],
    sent: Form | None = None,
    rejected: FormRejected | None = None,
) -> Challenge:
    violations = () if rejected is None else rejected.violations
    form = Challenge(FormName.REGISTER)
    for action in actions:
        form = action.show(sign_in, form, sent, violations)
    return form


def _registration_event(
    sign_in: SignInAttempt, form: Form, error: str | None = None
) -> AccountChanges:
    login = sign_in.realm.login
    named = EMAIL if login.registration_email_as_username else USERNAME
    details: dict[str, str] = {Detail.REGISTER_METHOD: "form"}
    fields = (
        (Detail.USERNAME, named),
        (Detail.EMAIL, EMAIL),
        (Detail.FIRST_NAME, FIRST_NAME),
        (Detail.LAST_NAME, LAST_NAME),
    )
    for name, field in fields:
        if form.get(field):
            details[name] = form[field]
    return AccountChanges((AccountChange(EventType.REGISTER, details, error),))
