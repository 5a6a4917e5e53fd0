"""The link that verifies an address. Keycloak: VerifyEmailActionTokenHandler."""

from typing import ClassVar, Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.events import Detail, EventType
from gateway.protocol.action_tokens.handler import Confirmation, LinkVisit, redirect_target
from gateway.protocol.action_tokens.verified_addresses import (
    mark_verified,
    require_same_address,
)
from gateway.protocol.authorization import PageMessage
from gateway.protocol.browser_sign_in import BrowserSignIn, Inform, Outcome

_CONFIRM: Final = "confirmEmailAddressVerification"
_VERIFIED: Final = "emailVerifiedMessage"
_STALE: Final = PageMessage.staleEmailVerificationLink


class VerifyEmailLink:
    """Marks the address as verified, while it is that of the user."""

    kind: ClassVar = ActionTokenKind.VERIFY_EMAIL
    event: ClassVar = EventType.VERIFY_EMAIL

    def __init__(self, sign_in: BrowserSignIn, updates: AccountUpdates) -> None:
        self._sign_in = sign_in
        self._updates = updates

    async def check(self, visit: LinkVisit) -> None:
        require_same_address(visit, _STALE)

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        """Name the account as well: who owns the address may not have registered it."""
        realm, user = visit.request.realm.realm, visit.user
        named = (visit.token.email or "", user.username, realm.display_name or realm.name)
        return Confirmation(_CONFIRM, visit.client.client, named, locale=user.locale)

    async def act(self, visit: LinkVisit) -> Outcome:
        """Verify the address; the sign-in of this browser that waits for it goes on."""
        await mark_verified(self._updates, visit, _STALE)
        visit.record(**{Detail.EMAIL: visit.token.email or ""})
        if visit.sign_in is not None:
            return await self._sign_in.go_on(visit.request, visit.sign_in, visit.browser)
        return Inform(
            _VERIFIED,
            visit.client.client,
            continue_url=redirect_target(visit),
            locale=visit.user.locale,
        )
