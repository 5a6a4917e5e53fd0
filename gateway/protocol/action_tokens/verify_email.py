"""The link that verifies an address. Keycloak: VerifyEmailActionTokenHandler."""

from dataclasses import replace
from typing import ClassVar, Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine import AccountChange
from gateway.authentication.errors import SignInRefused
from gateway.domain.action_tokens import ActionTokenKind
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import VERIFY_EMAIL
from gateway.protocol.action_tokens.handler import Confirmation, LinkVisit, refused_link
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import BrowserSignIn, Inform, Outcome

_CONFIRM: Final = "confirmEmailAddressVerification"
_VERIFIED: Final = "emailVerifiedMessage"


class VerifyEmailLink:
    """Marks the address as verified, while it is that of the user."""

    kind: ClassVar = ActionTokenKind.VERIFY_EMAIL
    event: ClassVar = EventType.VERIFY_EMAIL

    def __init__(self, sign_in: BrowserSignIn, updates: AccountUpdates) -> None:
        self._sign_in = sign_in
        self._updates = updates

    def check(self, visit: LinkVisit) -> None:
        if visit.token.email is None or visit.token.email != visit.user.email:
            raise _stale(visit)

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        address = visit.user.email or ""
        return Confirmation(_CONFIRM, visit.client.client, (address,), locale=visit.user.locale)

    async def act(self, visit: LinkVisit) -> Outcome:
        """Verify the address; the sign-in of this browser that waits for it goes on."""
        await self._verify(visit)
        request, session = visit.request, visit.sign_in
        request.event.details[Detail.EMAIL] = visit.token.email or ""
        if session is None:
            return Inform(
                _VERIFIED,
                visit.client.client,
                continue_url=visit.token.redirect_uri or "",
                locale=visit.user.locale,
            )
        verified = AccountChange(EventType.VERIFY_EMAIL, dict(request.event.details))
        request.event.changes = (verified,)
        request.event.details.clear()
        return await self._sign_in.go_on(request, session, visit.browser)

    async def _verify(self, visit: LinkVisit) -> None:
        realm = visit.request.realm.realm
        try:
            async with self._updates.begin(realm.id, visit.user.id) as update:
                if update.user.email != visit.token.email:
                    raise _stale(visit)
                verified = replace(update.user, email_verified=True)
                await update.replace(verified, performed=VERIFY_EMAIL)
        except SignInRefused as refusal:
            message, error = PageMessage.accountDisabledMessage, refusal.event_error
            raise refused_link(message, error, reason="disabled meanwhile") from refusal


def _stale(visit: LinkVisit) -> PageError:
    return refused_link(
        PageMessage.staleEmailVerificationLink,
        EventError.INVALID_EMAIL,
        reason="the address of the user is another one",
        client=visit.client.client,
    )
