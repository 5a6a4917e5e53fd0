"""The link by which a user resets the credentials.

The flow goes on in the browser that opens the link, in a new sign-in: a session that another
browser has planted, or has begun, gains nothing. Keycloak: ResetCredentialsActionTokenHandler
"""

from typing import ClassVar, Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine.proven_password import current_password_mark
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import FlowUse
from gateway.domain.ports.storage import Database
from gateway.protocol.action_tokens.handler import (
    Confirmation,
    LinkVisit,
    credentials_changed,
    refused_link,
)
from gateway.protocol.action_tokens.verified_addresses import mark_verified, require_same_address
from gateway.protocol.authorization import PageMessage
from gateway.protocol.browser_sign_in import (
    BrowserSignIn,
    Outcome,
    followed_link,
    offered_flows,
)

_CONFIRM: Final = "confirmResetCredentials"
_NOT_VALID: Final = PageMessage.linkNotValidMessage


class ResetCredentialsLink:
    """Runs the rest of the flow. Opening the link proves the address that it was sent to."""

    kind: ClassVar = ActionTokenKind.RESET_CREDENTIALS
    event: ClassVar = EventType.RESET_PASSWORD

    def __init__(self, sign_in: BrowserSignIn, updates: AccountUpdates, database: Database) -> None:
        self._sign_in = sign_in
        self._updates = updates
        self._database = database

    async def check(self, visit: LinkVisit) -> None:
        require_same_address(visit, _NOT_VALID)
        if FlowUse.RESET_CREDENTIALS not in offered_flows(visit.request.realm):
            message, error = PageMessage.resetCredentialNotAllowedMessage, EventError.NOT_ALLOWED
            client = visit.client.client
            raise refused_link(message, error, reason="the realm has no reset", client=client)
        async with self._database.read() as stores:
            password = await current_password_mark(stores, visit.user)
        if password != visit.token.password:
            raise credentials_changed(visit)

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        return Confirmation(_CONFIRM, visit.client.client, locale=visit.user.locale)

    async def act(self, visit: LinkVisit) -> Outcome:
        """Go on with the flow; the address was shown to be the user's."""
        await mark_verified(self._updates, visit, _NOT_VALID)
        visit.record()
        request = visit.request
        return await self._sign_in.begin_reset(
            request,
            followed_link(request.realm, visit.client),
            visit.browser,
            user=visit.user,
            waiting=visit.sign_in,
            password=visit.token.password or "",
        )
