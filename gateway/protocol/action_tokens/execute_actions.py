"""The link that lets a user perform required actions, which an administrator has sent.

It ends when the user gets, changes or loses a credential: an old mail must not undo that. Keycloak
accepts it until it expires. Keycloak: ExecuteActionsActionTokenHandler
"""

from typing import ClassVar, Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine.proven_password import (
    credentials_mark,
    current_credential_marks,
    current_password_mark,
)
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.storage import Database
from gateway.protocol.action_tokens.handler import (
    Confirmation,
    LinkVisit,
    credentials_changed,
    redirect_target,
    refused_link,
)
from gateway.protocol.action_tokens.verified_addresses import (
    mark_verified,
    require_same_address,
)
from gateway.protocol.authorization import PageMessage
from gateway.protocol.browser_sign_in import BrowserSignIn, Outcome, followed_link

_CONFIRM: Final = "confirmExecutionOfActions"
_ADDRESS_CHANGED: Final = PageMessage.linkNotValidMessage


class ExecuteActionsLink:
    """Begins the actions. Opening the link proves the address that it was sent to."""

    kind: ClassVar = ActionTokenKind.EXECUTE_ACTIONS
    event: ClassVar = EventType.EXECUTE_ACTIONS

    def __init__(self, sign_in: BrowserSignIn, updates: AccountUpdates, database: Database) -> None:
        self._sign_in = sign_in
        self._updates = updates
        self._database = database

    async def check(self, visit: LinkVisit) -> None:
        require_same_address(visit, _ADDRESS_CHANGED)
        await self._marks(visit)
        if not all(map(visit.request.realm.sign_in.offers, visit.token.actions)):
            raise refused_link(
                PageMessage.invalidTokenRequiredActions,
                EventError.RESOLVE_REQUIRED_ACTIONS,
                reason="an action was disabled or removed",
                client=visit.client.client,
            )

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        return Confirmation(
            _CONFIRM,
            visit.client.client,
            actions=visit.token.actions,
            locale=visit.user.locale,
        )

    async def act(self, visit: LinkVisit) -> Outcome:
        """Mark the address as verified, and ask for the first action."""
        await mark_verified(self._updates, visit, _ADDRESS_CHANGED)
        visit.record()
        request = visit.request
        password, credentials = await self._marks(visit)
        return await self._sign_in.begin_by_link(
            request,
            followed_link(request.realm, visit.client, redirect_target(visit)),
            visit.browser,
            user=visit.user,
            actions=visit.token.actions,
            password=password,
            credentials=credentials,
        )

    async def _marks(self, visit: LinkVisit) -> tuple[str, str]:
        """Return the marks of the password and of all credentials.

        Raises PageError where a credential was changed.
        """
        async with self._database.read() as stores:
            credentials = await current_credential_marks(stores, visit.user)
            password = await current_password_mark(stores, visit.user)
        if visit.token.credentials != credentials_mark(credentials):
            raise credentials_changed(visit)
        return password, credentials
