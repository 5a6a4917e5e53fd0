"""Opens the links of mails: GET shows what will happen, POST does it, once.

Mail scanners open links before their readers do: GET changes nothing. Of several POSTs, at any
gateways, one acts. Keycloak: LoginActionsService, 16.2
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from gateway.authentication.action_tokens import read_action_token
from gateway.authentication.validity import Cause, IssuedCredential, NoLongerValid, Validity
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.authentication.action_tokens import ActionToken
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.directory import ClientEntry, Directory
from gateway.domain.ports.one_time_passwords import OneTimeMarks
from gateway.domain.ports.sign_in.authentication_sessions import AuthenticationSessionStore
from gateway.domain.users import User
from gateway.protocol.action_tokens.handler import (
    ActionTokenHandler,
    Confirmation,
    LinkVisit,
    redirect_target,
    refused_link,
)
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import Browser, Outcome
from gateway.protocol.requests import ProtocolRequest

_NOT_USED: Final = timedelta()


class ActionTokenEndpoint:
    """Checks links and hands them to their handlers.

    Methods raise PageError for a link without effect, and StoreUnavailable.
    """

    def __init__(
        self,
        handlers: Iterable[ActionTokenHandler],
        directory: Directory,
        validity: Validity,
        marks: OneTimeMarks,
        sign_ins: AuthenticationSessionStore,
    ) -> None:
        self._handlers = {handler.kind: handler for handler in handlers}
        self._directory = directory
        self._validity = validity
        self._marks = marks
        self._sign_ins = sign_ins

    async def confirm(
        self, request: ProtocolRequest, key: str | None, browser: Browser
    ) -> Confirmation:
        """Return what the page of the link says. Nothing is changed or recorded."""
        visit, handler = await self._opened(request, key, browser)
        request.event.withdraw()
        return handler.confirmation(visit)

    async def act(self, request: ProtocolRequest, key: str | None, browser: Browser) -> Outcome:
        """Do what the link is for.

        The link is used up before it acts: a store that fails in between costs a new link, and
        never lets one act twice.
        """
        visit, handler = await self._opened(request, key, browser)
        realm_id, token = request.realm.realm.id, visit.token
        lifespan = token.expires_at - request.now
        if not await self._marks.claim(realm_id, _mark(token), lifespan):
            raise _used(visit)
        return await handler.act(visit)

    async def _opened(
        self, request: ProtocolRequest, key: str | None, browser: Browser
    ) -> tuple[LinkVisit, ActionTokenHandler]:
        """Return the link with its handler once every check has passed."""
        event = request.event
        event.begin(EventType.EXECUTE_ACTION_TOKEN)
        token = _token(request, key)
        event.user_id, event.client_id = token.user_id, token.client_id
        event.details |= {Detail.TOKEN_ID: token.id, Detail.ACTION: token.kind}
        if token.expires_at <= request.now:
            message = PageMessage.expiredActionTokenNoSessionMessage
            raise refused_link(message, EventError.EXPIRED_CODE, reason="the link has expired")
        handler = self._handlers[token.kind]
        event.begin(handler.event)
        user, client = await self._current(request, token)
        _require_no_other_user(request, browser, user, client.client)
        sign_in = await self._sign_in(request, token, browser)
        visit = LinkVisit(request, token, user, client, browser, sign_in)
        if await self._marks.remaining(request.realm.realm.id, _mark(token)) > _NOT_USED:
            raise _used(visit)
        redirect_target(visit)
        await handler.check(visit)
        return visit, handler

    async def _current(
        self, request: ProtocolRequest, token: ActionToken
    ) -> tuple[User, ClientEntry]:
        """Return the user and the client of the link, as they are now."""
        client = await self._directory.client(request.realm.realm.id, token.client_id)
        issued = IssuedCredential(
            issued_at=token.issued_at.timestamp(),
            client=client,
            user_id=token.user_id,
            user_added_at=token.user_added_at,
        )
        try:
            current = await self._validity.require(request.realm, issued, request.now)
        except NoLongerValid as refusal:
            raise _no_longer_valid(refusal, client) from refusal
        if client is None:
            raise _no_longer_valid(NoLongerValid(Cause.CLIENT_UNUSABLE), client)
        return current.user.user, client

    async def _sign_in(
        self, request: ProtocolRequest, token: ActionToken, browser: Browser
    ) -> AuthenticationSession | None:
        """Return the sign-in of this browser that the link was asked for in."""
        if token.sign_in is None or browser.session_id is None:
            return None
        realm_id = request.realm.realm.id
        found = await self._sign_ins.find(realm_id, browser.session_id, token.sign_in)
        return None if found is None or found.user_id != token.user_id else found


_REFUSALS: Final[Mapping[Cause, tuple[PageMessage, str]]] = {
    Cause.USER_REMOVED: (PageMessage.linkNotValidMessage, EventError.USER_NOT_FOUND),
    Cause.USER_DISABLED: (PageMessage.accountDisabledMessage, EventError.USER_DISABLED),
    Cause.CLIENT_UNUSABLE: (PageMessage.clientDisabledMessage, EventError.CLIENT_DISABLED),
}
"""Page and error of the event; a link that is refused for another cause has expired."""


def _no_longer_valid(refusal: NoLongerValid, client: ClientEntry | None) -> PageError:
    message, error = _REFUSALS.get(
        refusal.cause, (PageMessage.expiredActionTokenNoSessionMessage, EventError.EXPIRED_CODE)
    )
    if refusal.cause is Cause.CLIENT_UNUSABLE and client is None:
        message, error = PageMessage.clientNotFoundMessage, EventError.CLIENT_NOT_FOUND
    return refused_link(message, error, reason=str(refusal))


def _token(request: ProtocolRequest, key: str | None) -> ActionToken:
    """Return the token of the link; raises PageError for one that no gateway made."""
    if key is None:
        message = PageMessage.invalidRequestMessage
        raise refused_link(message, EventError.NOT_ALLOWED, reason="a link without its key")
    try:
        return read_action_token(request.realm, request.issuer, key, request.now)
    except InvalidToken as refusal:
        message, reason = PageMessage.linkNotValidMessage, str(refusal)
        raise refused_link(message, EventError.INVALID_TOKEN, reason=reason) from refusal


def _require_no_other_user(
    request: ProtocolRequest, browser: Browser, user: User, client: Client
) -> None:
    """Raise PageError where another user is signed in in this browser."""
    identity = browser.identity
    if identity is None or identity.user.id == user.id:
        return
    request.event.details[Detail.EXISTING_USER] = identity.user.id
    raise refused_link(
        PageMessage.differentUserAuthenticated,
        EventError.DIFFERENT_USER_AUTHENTICATED,
        identity.user.username,
        reason="another user is signed in",
        client=client,
    )


def _used(visit: LinkVisit) -> PageError:
    return refused_link(
        PageMessage.expiredActionMessage,
        EventError.EXPIRED_CODE,
        reason="the link was used before",
        client=visit.client.client,
    )


def _mark(token: ActionToken) -> str:
    return f"action-token:{token.id}"
