"""Required actions about the user: profile, e-mail address, and the terms of the realm.

Keycloak: 16.1 required actions; VerifyEmail, UpdateEmail, TermsAndConditions (26.7)
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.action_tokens import (
    LinkMail,
    MailPauses,
    NotSent,
    new_action_token,
    user_action_lifespan,
)
from gateway.authentication.engine.proofs import current_password_mark
from gateway.authentication.engine.required_action import Asked, Ignored, Performed
from gateway.authentication.engine.results import (
    NO_CHANGES,
    AccountChange,
    AccountChanges,
    ends_other_sessions,
)
from gateway.authentication.engine.sign_in import ASKED_BY_LINK, Form, SignInAttempt
from gateway.authentication.errors import ActionDeclined
from gateway.authentication.profile_updates import (
    EmailUpdates,
    OwnProfile,
    ProfileRejected,
    ProfileUpdates,
    pending_email,
)
from gateway.authentication.realm_profile import own_locked_names, profile_violations
from gateway.domain.authentication import ActionTokenKind, Challenge, FormName, MessageKey
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import (
    TERMS_AND_CONDITIONS,
    UPDATE_EMAIL,
    UPDATE_PROFILE,
    VERIFY_EMAIL,
    VERIFY_PROFILE,
)
from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.mail import MailKind
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.user_profile import ACCEPTED_TERMS, EMAIL, Violation
from gateway.domain.users import User, canonical_name

_VERIFICATION_NOTE: Final = "profile-verified"
"""The note that the event VERIFY_PROFILE was recorded: a page that is loaded again adds none."""


class UpdateProfile:
    """UPDATE_PROFILE and VERIFY_PROFILE: the user completes the attributes of the user profile.

    Takes the attributes of the user, under one of the two aliases.

    Fields named as the attributes, several values in lines. VERIFY_PROFILE is the same form, asked
    for while the profile is not complete; clients cannot ask for it. Keycloak: 16.1 required
    actions
    """

    def __init__(self, alias: str, updates: ProfileUpdates) -> None:
        self.alias = alias
        self.may_be_requested = alias == UPDATE_PROFILE
        self._updates = updates

    async def ask(self, sign_in: SignInAttempt) -> Challenge:
        violations: tuple[Violation, ...] = ()
        if self.alias == VERIFY_PROFILE:
            violations = await profile_violations(
                sign_in.context.realm, sign_in.user, sign_in.scopes
            )
            _record_verification(sign_in, violations)
        message = MessageKey.UPDATE_PROFILE if sign_in.is_required(self.alias) else None
        return self._form(sign_in, None, violations, message)

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        try:
            change = await self._updates.store(
                _profile(sign_in), sign_in.user.id, form, performed=self.alias
            )
        except ProfileRejected as rejected:
            message = MessageKey.INVALID_PROFILE
            return Asked(self._form(sign_in, form, rejected.violations, message), NO_CHANGES)
        details = {Detail.CONTEXT: UPDATE_PROFILE, **change.details}
        return Performed(AccountChanges((AccountChange(EventType.UPDATE_PROFILE, details),)))

    def _form(
        self,
        sign_in: SignInAttempt,
        sent: Form | None,
        violations: Sequence[Violation],
        message: MessageKey | None,
    ) -> Challenge:
        return Challenge(
            FormName.UPDATE_PROFILE,
            {"username": sign_in.user.username},
            message,
            is_error=message is MessageKey.INVALID_PROFILE,
            profile=_profile(sign_in).fields(sign_in.user, sent, violations),
            required_action=self.alias,
        )


def _profile(sign_in: SignInAttempt) -> OwnProfile:
    realm = sign_in.context.realm
    unlocks_email = EMAIL not in own_locked_names(realm, sign_in.user)
    return OwnProfile(realm, sign_in.scopes, unlocks_email=unlocks_email)


def _record_verification(sign_in: SignInAttempt, violations: Iterable[Violation]) -> None:
    if _VERIFICATION_NOTE in sign_in.notes:
        return
    sign_in.note(_VERIFICATION_NOTE, "true")
    names = dict.fromkeys(violation.field for violation in violations)
    details = {Detail.FIELDS_TO_UPDATE: ",".join(names)}
    sign_in.record(AccountChange(EventType.VERIFY_PROFILE, details))


_VERIFICATION_SENT: Final = "verify-email-sent"
"""The note with the address that a mail was sent to: a page that is loaded again sends none."""
_CONTINUE_FIELD: Final = "continue"
_VERIFY_EMAIL: Final = ActionTokenKind.VERIFY_EMAIL


class VerifyEmail:
    """VERIFY_EMAIL: the user opens the link of a mail, which shows that the address is the user's.

    The first mail is sent with the page, the next ones by its button; where the client asks for the
    action, all of them are. Keycloak: VerifyEmail, 16.1 required actions
    """

    alias = VERIFY_EMAIL
    may_be_requested = True

    def __init__(self, database: Database, pauses: MailPauses) -> None:
        self._database = database
        self._pauses = pauses

    async def ask(self, sign_in: SignInAttempt) -> Challenge | None:
        user, context = sign_in.user, sign_in.context
        if user.email_verified or not user.email:
            return None
        is_sent = sign_in.notes.get(_VERIFICATION_SENT) == user.email
        if is_sent or context.requested.action == VERIFY_EMAIL or not context.may_ask:
            return _verify_email_form(sign_in)
        failure = await self._pause(sign_in)
        if failure is not None and failure.is_pause:
            # A mail that was sent in another tab moments ago will do.
            sign_in.note(_VERIFICATION_SENT, user.email)
            return _verify_email_form(sign_in)
        return _verify_email_form(sign_in, failure or await self._send(sign_in))

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        if _CONTINUE_FIELD in form:
            return Asked(_verify_email_form(sign_in), NO_CHANGES)
        failure = await self._pause(sign_in) or await self._send(sign_in)
        return Asked(_verify_email_form(sign_in, failure), sign_in.account_changes)

    async def _pause(self, sign_in: SignInAttempt) -> NotSent | None:
        pause = sign_in.context.realm.sign_in.resend_pause(VERIFY_EMAIL)
        address = sign_in.user.email or ""
        network = caller_of(sign_in.context.address)
        return await self._pauses.begin(sign_in.user, VERIFY_EMAIL, pause, address, network)

    async def _send(self, sign_in: SignInAttempt) -> NotSent | None:
        address = sign_in.user.email or ""
        mail = verification_mail(sign_in, sign_in.user)
        async with self._database.write() as stores:
            failure = await mail.queue(stores, sign_in.now)
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        sign_in.record(AccountChange(EventType.SEND_VERIFY_EMAIL, {Detail.EMAIL: address}, error))
        if failure is None:
            sign_in.note(_VERIFICATION_SENT, address)
        return failure


def verification_mail(sign_in: SignInAttempt, user: User) -> LinkMail:
    """Return the mail with a link by which the sign-in goes on."""
    address, tab_id = user.email or "", sign_in.begun.tab_id
    token = new_action_token(
        _VERIFY_EMAIL,
        user,
        sign_in.client.client_id,
        sign_in.now,
        user_action_lifespan(sign_in.realm, _VERIFY_EMAIL),
        email=address,
        sign_in=tab_id,
    )
    return LinkMail(
        sign_in.context.realm,
        sign_in.context.issuer,
        user,
        address,
        MailKind.EMAIL_VERIFICATION,
        token,
        tab_id,
    )


def _verify_email_form(sign_in: SignInAttempt, failure: NotSent | None = None) -> Challenge:
    user = sign_in.user
    sent = sign_in.notes.get(_VERIFICATION_SENT) == user.email
    form = Challenge(
        FormName.VERIFY_EMAIL,
        {"email": user.email or "", **({"sent": "true"} if sent else {})},
        MessageKey.VERIFY_EMAIL if sign_in.is_required(VERIFY_EMAIL) else None,
        required_action=VERIFY_EMAIL,
    )
    if failure is None:
        return form
    message, arguments = failure.message, failure.arguments
    return replace(form, message=message, message_arguments=arguments, is_error=True)


_EMAIL_FIELD: Final = "email"
_UPDATE_EMAIL: Final = ActionTokenKind.UPDATE_EMAIL


class UpdateEmail:
    """UPDATE_EMAIL: the user enters another address, which a link that is sent to it confirms.

    Takes the address, and sends the link.

    Fields `email` and `logout-sessions`. Where the realm verifies no addresses, the change is made
    at once. Keycloak: UpdateEmail, 16.1 required actions
    """

    alias = UPDATE_EMAIL
    may_be_requested = True

    def __init__(self, emails: EmailUpdates, pauses: MailPauses) -> None:
        self._emails = emails
        self._pauses = pauses

    async def ask(self, sign_in: SignInAttempt) -> Challenge | Ignored:
        if not _email_profile(sign_in).may_change_email:
            return Ignored(NO_CHANGES)
        waiting = pending_email(sign_in.user)
        if waiting is not None:
            return _email_form(sign_in, waiting, MessageKey.EMAIL_PENDING, (waiting,))
        message = MessageKey.UPDATE_EMAIL if sign_in.is_required(UPDATE_EMAIL) else None
        return _email_form(sign_in, sign_in.user.email or "", message)

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        address = form.get(_EMAIL_FIELD, "")
        ends_sessions = ends_other_sessions(form)
        try:
            if _must_confirm(sign_in, address):
                return await self._request(sign_in, address, ends_sessions=ends_sessions)
            change = await self._emails.store_address(
                _email_profile(sign_in), sign_in.user.id, address
            )
        except ProfileRejected as rejected:
            return Asked(_rejected_email(sign_in, address, rejected.violations), NO_CHANGES)
        event = AccountChange(EventType.UPDATE_EMAIL, change.details)
        return Performed(AccountChanges((event,), ends_sessions))

    async def _request(self, sign_in: SignInAttempt, address: str, *, ends_sessions: bool) -> Asked:
        """Send the link. The pause begins first: addresses are not tried out by it."""
        pause = sign_in.context.realm.sign_in.resend_pause(UPDATE_EMAIL)
        network = caller_of(sign_in.context.address)
        failure = await self._pauses.begin(sign_in.user, UPDATE_EMAIL, pause, address, network)
        if failure is not None:
            return Asked(_email_not_sent(sign_in, address, failure), NO_CHANGES)

        async def queue(stores: Stores, wanted: str) -> NotSent | None:
            password = await current_password_mark(stores, user)
            mail = _confirmation_mail(sign_in, wanted, password, ends_sessions=ends_sessions)
            return await mail.queue(stores, sign_in.now)

        profile, user = _email_profile(sign_in), sign_in.user
        wanted, failure = await self._emails.request(profile, user.id, address, queue)
        if sign_in.own_session_id is None:
            sign_in.note(ASKED_BY_LINK, "true")
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        event = AccountChange(EventType.SEND_VERIFY_EMAIL, {Detail.EMAIL: wanted}, error)
        shown = (
            _email_form(sign_in, wanted, MessageKey.EMAIL_CONFIRMATION_SENT, (wanted,))
            if failure is None
            else _email_not_sent(sign_in, address, failure)
        )
        return Asked(shown, AccountChanges((event,)))


def _must_confirm(sign_in: SignInAttempt, address: str) -> bool:
    """Tell whether a link confirms the address; a verified address needs none."""
    rules, user = sign_in.context.realm.sign_in, sign_in.user
    wanted = canonical_name(address.strip())
    is_known = wanted == user.email and user.email_verified
    verifies = sign_in.realm.login.verify_email or rules.verifies_new_email
    return verifies and bool(wanted) and not is_known


def _confirmation_mail(
    sign_in: SignInAttempt, address: str, password: str, *, ends_sessions: bool
) -> LinkMail:
    context, user = sign_in.context, sign_in.user
    token = new_action_token(
        _UPDATE_EMAIL,
        user,
        sign_in.client.client_id,
        sign_in.now,
        user_action_lifespan(sign_in.realm, _UPDATE_EMAIL),
        email=user.email,
        new_email=address,
        password=password,
        session=sign_in.own_session_id,
        ends_other_sessions=ends_sessions,
    )
    kind, tab = MailKind.EMAIL_UPDATE_CONFIRMATION, sign_in.begun.tab_id
    return LinkMail(context.realm, context.issuer, user, address, kind, token, tab, (address,))


def _email_profile(sign_in: SignInAttempt) -> OwnProfile:
    return OwnProfile(sign_in.context.realm, sign_in.scopes, unlocks_email=True)


def _email_form(
    sign_in: SignInAttempt,
    address: str,
    message: str | None,
    arguments: tuple[str, ...] = (),
    *,
    is_error: bool = False,
) -> Challenge:
    return Challenge(
        FormName.UPDATE_EMAIL,
        {"username": sign_in.user.username, _EMAIL_FIELD: address},
        message,
        message_arguments=arguments,
        is_error=is_error,
        error_field=_EMAIL_FIELD if is_error else None,
        required_action=UPDATE_EMAIL,
    )


def _rejected_email(
    sign_in: SignInAttempt, address: str, violations: Sequence[Violation]
) -> Challenge:
    first = violations[0]
    arguments = tuple(str(one) for one in first.parameters)
    return _email_form(sign_in, address, first.message, arguments, is_error=True)


def _email_not_sent(sign_in: SignInAttempt, address: str, failure: NotSent) -> Challenge:
    return _email_form(sign_in, address, failure.message, failure.arguments, is_error=True)


_TERMS_DECLINED: Final = "termsAndConditionsDeclined"
"""What Keycloak reports to the client."""


class TermsAndConditions:
    """TERMS_AND_CONDITIONS: the user accepts the terms of the realm, text `termsText`, or declines.

    The instant of the acceptance is kept in the user attribute `terms_and_conditions`, in seconds
    since 1970. Keycloak: TermsAndConditions (26.7), 16.1 required actions
    """

    alias = TERMS_AND_CONDITIONS
    may_be_requested = False

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def ask(self, sign_in: SignInAttempt) -> Challenge:
        return Challenge(
            FormName.TERMS,
            {"username": sign_in.user.username},
            required_action=TERMS_AND_CONDITIONS,
        )

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        if "accept" not in form or "cancel" in form:
            raise ActionDeclined(sign_in.user.id, TERMS_AND_CONDITIONS, _TERMS_DECLINED)
        async with self._updates.begin_update(sign_in.realm.id, sign_in.user.id) as update:
            accepted = with_accepted_terms(update.user, sign_in.now)
            await update.replace(accepted, performed=TERMS_AND_CONDITIONS)
        return Performed(AccountChanges((AccountChange(EventType.CUSTOM_REQUIRED_ACTION),)))


def with_accepted_terms(user: User, now: datetime) -> User:
    """Return the user, who has accepted the terms at this instant."""
    accepted_at = str(int(now.timestamp()))
    return replace(user, attributes={**user.attributes, ACCEPTED_TERMS: (accepted_at,)})
