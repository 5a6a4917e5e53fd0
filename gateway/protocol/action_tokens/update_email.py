"""The link that changes the address of a user to the one that it was sent to.

Keycloak: UpdateEmailActionTokenHandler
"""

from typing import ClassVar, Final

from gateway.authentication.email_updates import EmailUpdates, LinkEnded, pending_email
from gateway.authentication.engine.proven_password import current_password_mark
from gateway.authentication.errors import SignInRefused
from gateway.authentication.profile_updates import OwnProfile, ProfileRejected
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.storage import Database
from gateway.protocol.action_tokens.handler import Confirmation, LinkVisit, refused_link
from gateway.protocol.action_tokens.verified_addresses import disabled_meanwhile
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import Inform, Outcome, Stop
from gateway.protocol.sessions import Sessions

_CONFIRM: Final = "confirmEmailUpdate"
_TITLE: Final = "emailUpdatedTitle"
_UPDATED: Final = "emailUpdated"


class UpdateEmailLink:
    """Changes the address, while it is the one that the user has asked for last."""

    kind: ClassVar = ActionTokenKind.UPDATE_EMAIL
    event: ClassVar = EventType.UPDATE_EMAIL

    def __init__(self, emails: EmailUpdates, sessions: Sessions, database: Database) -> None:
        self._emails = emails
        self._sessions = sessions
        self._database = database

    async def check(self, visit: LinkVisit) -> None:
        token, user = visit.token, visit.user
        if token.email != user.email or token.new_email != pending_email(user):
            raise _cancelled(visit)
        async with self._database.read() as stores:
            password = await current_password_mark(stores, user)
        if password != token.password:
            raise _cancelled(visit)

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        address, locale = visit.token.new_email or "", visit.user.locale
        return Confirmation(_CONFIRM, visit.client.client, (address,), locale=locale)

    async def act(self, visit: LinkVisit) -> Outcome:
        """Change the address, and end other sessions where the user asked for it."""
        request, client = visit.request, visit.client.client
        try:
            profile = OwnProfile(request.realm, unlocks_email=True)
            change = await self._emails.confirm(profile, visit.token)
        except LinkEnded as ended:
            raise _cancelled(visit) from ended
        except ProfileRejected as rejected:
            first = rejected.violations[0]
            request.event.fail(EventError.EMAIL_IN_USE)
            return Stop(first.message, client, tuple(map(str, first.parameters)))
        except SignInRefused as refusal:
            raise disabled_meanwhile(refusal) from refusal
        visit.record(**change.details)
        if visit.token.ends_other_sessions:
            realm, keep = request.realm.realm, visit.browser.user_session
            await self._sessions.log_out_others(realm, visit.user.id, keep=keep, now=request.now)
        return Inform(
            _UPDATED,
            client,
            (change.after.email or "",),
            title=_TITLE,
            locale=visit.user.locale,
        )


def _cancelled(visit: LinkVisit) -> PageError:
    return refused_link(
        PageMessage.emailVerificationCancelled,
        EventError.INVALID_EMAIL,
        reason="another address, or no change is waited for",
        client=visit.client.client,
    )
