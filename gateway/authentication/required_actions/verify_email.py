"""VERIFY_EMAIL: the user opens the link of a mail, which shows that the address is the user's.

The first mail is sent with the page, the next ones by its button; where the client asks for the
action, all of them are. Keycloak: VerifyEmail, 16.1
"""

from dataclasses import replace
from typing import Final

from gateway.authentication.action_tokens import new_action_token, user_action_lifespan
from gateway.authentication.engine.account_changes import NO_CHANGES, AccountChange
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.link_mails import LinkMail, MailPauses, NotSent
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import VERIFY_EMAIL
from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.mail import MailKind
from gateway.domain.ports.storage import Database
from gateway.domain.users import User

_SENT: Final = "verify-email-sent"
"""The note with the address that a mail was sent to: a page that is loaded again sends none."""
_CONTINUE: Final = "continue"
_KIND: Final = ActionTokenKind.VERIFY_EMAIL


class VerifyEmail:
    """Sends the mail and waits for its link."""

    alias = VERIFY_EMAIL
    may_be_requested = True

    def __init__(self, database: Database, pauses: MailPauses) -> None:
        self._database = database
        self._pauses = pauses

    async def ask(self, sign_in: SignIn) -> Challenge | None:
        user, context = sign_in.user, sign_in.context
        if user.email_verified or not user.email:
            return None
        is_sent = sign_in.notes.get(_SENT) == user.email
        if is_sent or context.requested.action == VERIFY_EMAIL or not context.may_ask:
            return _form(sign_in)
        failure = await self._pause(sign_in)
        if failure is not None and failure.is_pause:
            # A mail that was sent in another tab moments ago will do.
            sign_in.note(_SENT, user.email)
            return _form(sign_in)
        failure = failure or await self._send(sign_in)
        return _form(sign_in) if failure is None else _failed(sign_in, failure)

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
        if _CONTINUE in form:
            return Asked(_form(sign_in), NO_CHANGES)
        failure = await self._pause(sign_in) or await self._send(sign_in)
        shown = _form(sign_in) if failure is None else _failed(sign_in, failure)
        return Asked(shown, sign_in.account_changes)

    async def _pause(self, sign_in: SignIn) -> NotSent | None:
        pause = sign_in.context.realm.sign_in.resend_pause(VERIFY_EMAIL)
        address = sign_in.user.email or ""
        network = caller_of(sign_in.context.address)
        return await self._pauses.begin(sign_in.user, VERIFY_EMAIL, pause, address, network)

    async def _send(self, sign_in: SignIn) -> NotSent | None:
        address = sign_in.user.email or ""
        mail = verification_mail(sign_in, sign_in.user)
        async with self._database.write() as stores:
            failure = await mail.queue(stores, sign_in.now)
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        sign_in.record(AccountChange(EventType.SEND_VERIFY_EMAIL, {Detail.EMAIL: address}, error))
        if failure is None:
            sign_in.note(_SENT, address)
        return failure


def verification_mail(sign_in: SignIn, user: User) -> LinkMail:
    """Return the mail with a link by which the sign-in goes on."""
    address, tab_id = user.email or "", sign_in.begun.tab_id
    token = new_action_token(
        _KIND,
        user,
        sign_in.client.client_id,
        sign_in.now,
        user_action_lifespan(sign_in.realm, _KIND),
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


def _form(sign_in: SignIn) -> Challenge:
    user = sign_in.user
    sent = sign_in.notes.get(_SENT) == user.email
    return Challenge(
        FormName.VERIFY_EMAIL,
        {"email": user.email or "", **({"sent": "true"} if sent else {})},
        MessageKey.VERIFY_EMAIL if sign_in.is_required(VERIFY_EMAIL) else None,
        required_action=VERIFY_EMAIL,
    )


def _failed(sign_in: SignIn, failure: NotSent) -> Challenge:
    return replace(
        _form(sign_in),
        message=failure.message,
        message_arguments=failure.arguments,
        is_error=True,
    )
