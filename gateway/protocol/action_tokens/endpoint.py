"""Opens the links of mails: GET shows what will happen, POST does it, once.

Mail scanners open links before their readers do: GET changes nothing. Of several POSTs, at any
gateways, one acts. Keycloak: LoginActionsService, 16.2
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from gateway.authentication.action_tokens import read_action_token
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
        marks: OneTimeMarks,
        sign_ins: AuthenticationSessionStore,
    ) -> None:
        self._handlers = {handler.kind: handler for handler in handlers}
        self._directory = directory
        self._marks = marks
        self._sign_ins = sign_ins

    async def confirm(
        self, request: ProtocolRequest, key: str | None, browser: Browser
    ) -> Confirmation:
        """Return what the page of the link says. Nothing is changed or recorded."""
        visit, handler = await self._opened(request, key, browser)
        realm_id = request.realm.realm.id
        if await self._marks.remaining(realm_id, _mark(visit.token)) > _NOT_USED:
            raise _used(visit)
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
        user = await self._user(request, token)
        client = await self._client(request, token)
        _require_no_other_user(request, browser, user, client.client)
        sign_in = await self._sign_in(request, token, browser)
        visit = LinkVisit(request, token, user, client, browser, sign_in)
        handler.check(visit)
        return visit, handler

    async def _user(self, request: ProtocolRequest, token: ActionToken) -> User:
        realm = request.realm.realm
        found = await self._directory.user(realm.id, token.user_id)
        if found is None:
            message = PageMessage.linkNotValidMessage
            raise refused_link(message, EventError.USER_NOT_FOUND, reason="the user was removed")
        if not found.user.enabled:
            message = PageMessage.accountDisabledMessage
            raise refused_link(message, EventError.USER_DISABLED, reason="the user is disabled")
        if token.issued_at.timestamp() < max(realm.not_before, found.user.not_before):
            message = PageMessage.expiredActionTokenNoSessionMessage
            raise refused_link(message, EventError.EXPIRED_CODE, reason="older than not-before")
        return found.user

    async def _client(self, request: ProtocolRequest, token: ActionToken) -> ClientEntry:
        found = await self._directory.client(request.realm.realm.id, token.client_id)
        if found is None:
            message = PageMessage.clientNotFoundMessage
            raise refused_link(message, EventError.CLIENT_NOT_FOUND, reason="no such client")
        if not found.client.enabled:
            message = PageMessage.clientDisabledMessage
            raise refused_link(message, EventError.CLIENT_DISABLED, reason="a disabled client")
        return found

    async def _sign_in(
        self, request: ProtocolRequest, token: ActionToken, browser: Browser
    ) -> AuthenticationSession | None:
        """Return the sign-in of this browser that the link was asked for in."""
        if token.sign_in is None or browser.session_id is None:
            return None
        realm_id = request.realm.realm.id
        found = await self._sign_ins.find(realm_id, browser.session_id, token.sign_in)
        return None if found is None or found.user_id != token.user_id else found


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
