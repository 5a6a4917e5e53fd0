"""UPDATE_EMAIL: the user enters another address, which a link that is sent to it confirms.

Fields `email` and `logout-sessions`. Where the realm verifies no addresses, the change is made at
once. Keycloak: UpdateEmail, 16.1
"""

from collections.abc import Sequence
from typing import Final

from gateway.authentication.action_tokens import new_action_token, user_action_lifespan
from gateway.authentication.email_updates import EmailUpdates, pending_email
from gateway.authentication.engine.account_changes import (
    NO_CHANGES,
    AccountChange,
    AccountChanges,
    ends_other_sessions,
)
from gateway.authentication.engine.proven_password import current_password_mark
from gateway.authentication.engine.required_action import Asked, Ignored, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.link_mails import LinkMail, MailPauses, NotSent
from gateway.authentication.profile_updates import OwnProfile, ProfileRejected
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import UPDATE_EMAIL
from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.mail import MailKind
from gateway.domain.ports.storage import Stores
from gateway.domain.user_profile import Violation
from gateway.domain.users import canonical_name

_FIELD: Final = "email"
_KIND: Final = ActionTokenKind.UPDATE_EMAIL


class UpdateEmail:
    """Takes the address, and sends the link."""

    alias = UPDATE_EMAIL
    may_be_requested = True

    def __init__(self, emails: EmailUpdates, pauses: MailPauses) -> None:
        self._emails = emails
        self._pauses = pauses

    async def ask(self, sign_in: SignIn) -> Challenge | Ignored:
        if not _profile(sign_in).may_change_email:
            return Ignored(NO_CHANGES)
        waiting = pending_email(sign_in.user)
        if waiting is not None:
            return _form(sign_in, waiting, MessageKey.EMAIL_PENDING, (waiting,))
        message = MessageKey.UPDATE_EMAIL if sign_in.is_required(UPDATE_EMAIL) else None
        return _form(sign_in, sign_in.user.email or "", message)

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
        address = form.get(_FIELD, "")
        ends_sessions = ends_other_sessions(form)
        try:
            if _must_confirm(sign_in, address):
                return await self._request(sign_in, address, ends_sessions=ends_sessions)
            change = await self._emails.store(_profile(sign_in), sign_in.user.id, address)
        except ProfileRejected as rejected:
            return Asked(_rejected(sign_in, address, rejected.violations), NO_CHANGES)
        event = AccountChange(EventType.UPDATE_EMAIL, change.details)
        return Performed(AccountChanges((event,), ends_sessions))

    async def _request(self, sign_in: SignIn, address: str, *, ends_sessions: bool) -> Asked:
        """Send the link. The pause begins first: addresses are not tried out by it."""
        pause = sign_in.context.realm.sign_in.resend_pause(UPDATE_EMAIL)
        network = caller_of(sign_in.context.address)
        failure = await self._pauses.begin(sign_in.user, UPDATE_EMAIL, pause, address, network)
        if failure is not None:
            return Asked(_failed(sign_in, address, failure), NO_CHANGES)

        async def queue(stores: Stores, wanted: str) -> NotSent | None:
            password = await current_password_mark(stores, user)
            mail = _mail(sign_in, wanted, password, ends_sessions=ends_sessions)
            return await mail.queue(stores, sign_in.now)

        profile, user = _profile(sign_in), sign_in.user
        wanted, failure = await self._emails.request(profile, user.id, address, queue)
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        event = AccountChange(EventType.SEND_VERIFY_EMAIL, {Detail.EMAIL: wanted}, error)
        shown = (
            _form(sign_in, wanted, MessageKey.EMAIL_CONFIRMATION_SENT, (wanted,))
            if failure is None
            else _failed(sign_in, address, failure)
        )
        return Asked(shown, AccountChanges((event,)))


def _must_confirm(sign_in: SignIn, address: str) -> bool:
    """Tell whether a link confirms the address: one that is verified already needs none."""
    rules, user = sign_in.context.realm.sign_in, sign_in.user
    wanted = canonical_name(address.strip())
    is_known = wanted == user.email and user.email_verified
    verifies = sign_in.realm.login.verify_email or rules.verifies_new_email
    return verifies and bool(wanted) and not is_known


def _mail(sign_in: SignIn, address: str, password: str, *, ends_sessions: bool) -> LinkMail:
    context, user = sign_in.context, sign_in.user
    token = new_action_token(
        _KIND,
        user,
        sign_in.client.client_id,
        sign_in.now,
        user_action_lifespan(sign_in.realm, _KIND),
        email=user.email,
        new_email=address,
        password=password,
        ends_other_sessions=ends_sessions,
    )
    kind, tab = MailKind.EMAIL_UPDATE_CONFIRMATION, sign_in.begun.tab_id
    return LinkMail(context.realm, context.issuer, user, address, kind, token, tab, (address,))


def _profile(sign_in: SignIn) -> OwnProfile:
    return OwnProfile(sign_in.context.realm, sign_in.scopes, unlocks_email=True)


def _form(
    sign_in: SignIn,
    address: str,
    message: str | None,
    arguments: tuple[str, ...] = (),
    *,
    is_error: bool = False,
) -> Challenge:
    return Challenge(
        FormName.UPDATE_EMAIL,
        {"username": sign_in.user.username, _FIELD: address},
        message,
        message_arguments=arguments,
        is_error=is_error,
        error_field=_FIELD if is_error else None,
        required_action=UPDATE_EMAIL,
    )


def _rejected(sign_in: SignIn, address: str, violations: Sequence[Violation]) -> Challenge:
    first = violations[0]
    arguments = tuple(str(one) for one in first.parameters)
    return _form(sign_in, address, first.message, arguments, is_error=True)


def _failed(sign_in: SignIn, address: str, failure: NotSent) -> Challenge:
    return _form(sign_in, address, failure.message, failure.arguments, is_error=True)
