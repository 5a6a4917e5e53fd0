"""The links of mails: opened by GET, used once by POST."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar, Final, Protocol

from gateway.authentication.action_tokens import read_action_token
from gateway.authentication.engine import AccountChange
from gateway.authentication.validity import (
    Cause,
    ClientPart,
    IssuedCredential,
    NoLongerValid,
    SessionName,
    Validity,
)
from gateway.domain.authentication import ActionToken, ActionTokenKind, AuthenticationSession
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.credentials import OneTimeMarks
from gateway.domain.ports.lookups import ClientEntry, Directory
from gateway.domain.ports.sign_in import AuthenticationSessionStore
from gateway.domain.users import User
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import Browser, Outcome, validate_target
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class LinkVisit:
    """A valid link; `sign_in` of this browser asked for it, None where it has ended."""

    request: ProtocolRequest
    token: ActionToken
    user: User
    client: ClientEntry
    browser: Browser
    sign_in: AuthenticationSession | None = None

    def record(self, **details: str) -> None:
        """Record that the link was used; what the request comes to is recorded beside it."""
        event = self.request.event
        if event.kind is not None:
            found = {**event.details, Detail.USERNAME: self.user.username, **details}
            event.changes += (AccountChange(event.kind, found),)
        event.details.clear()
        event.withdraw()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The page of a link: the key of its text, and aliases of required actions below."""

    message: str
    client: Client
    arguments: tuple[str, ...] = field(default=(), repr=False)
    actions: tuple[str, ...] = ()
    locale: str = ""
    """The language of the user; empty where none is set."""


class ActionTokenHandler(Protocol):
    """Acts for one kind of link. Methods raise StoreUnavailable."""

    kind: ClassVar[ActionTokenKind]
    event: ClassVar[EventType]
    """The event of a valid link."""

    async def check_visit(self, visit: LinkVisit) -> None:
        """Raise PageError where the link has lost its effect; called for the page and the act."""
        ...

    def confirmation(self, visit: LinkVisit) -> Confirmation:
        """Return what the page says; it changes nothing."""
        ...

    async def act(self, visit: LinkVisit) -> Outcome:
        """Do what the link is for, once; raises as `BrowserSignIn` does."""
        ...


def refused_link(
    message: PageMessage, error: str, *arguments: str, reason: str, client: Client | None = None
) -> PageError:
    """Return the page of a link that has no effect."""
    return PageError(message, *arguments, event_error=error, reason=reason, client=client)


def credentials_changed(visit: LinkVisit) -> PageError:
    """Return the page of a link whose user has other credentials than when it was sent."""
    return refused_link(
        PageMessage.expiredActionTokenNoSessionMessage,
        EventError.EXPIRED_CODE,
        reason="the password or another credential was changed",
        client=visit.client.client,
    )


def redirect_target(visit: LinkVisit) -> str:
    """Return where the page at the end leads to, "" for nowhere; raises PageError."""
    return validate_target(visit.request, visit.client.client, visit.token.redirect_uri)


_NOT_USED: Final = timedelta()


class ActionTokenEndpoint:
    """Checks links and passes them to their handlers; raises PageError and StoreUnavailable.

    GET changes nothing, because mail scanners open links. Of several POSTs one acts. Keycloak:
    LoginActionsService, 16.2 mailed links
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
        """Act once; the link is used up first, so that a failing store never lets it act twice."""
        visit, handler = await self._opened(request, key, browser)
        realm_id, token = request.realm.realm.id, visit.token
        lifespan = token.expires_at - request.now
        if not await self._marks.claim(realm_id, _mark_of_use(token), lifespan):
            raise _used_link(visit)
        return await handler.act(visit)

    async def _opened(
        self, request: ProtocolRequest, key: str | None, browser: Browser
    ) -> tuple[LinkVisit, ActionTokenHandler]:
        event = request.event
        event.kind = EventType.EXECUTE_ACTION_TOKEN
        token = _parsed_link(request, key)
        event.user_id, event.client_id = token.user_id, token.client_id
        event.details |= {Detail.TOKEN_ID: token.id, Detail.ACTION: token.kind}
        if token.expires_at <= request.now:
            message = PageMessage.expiredActionTokenNoSessionMessage
            raise refused_link(message, EventError.EXPIRED_CODE, reason="the link has expired")
        handler = self._handlers[token.kind]
        event.kind = handler.event
        user, client = await self._current(request, token)
        _require_no_other_user(request, browser, user, client.client)
        sign_in = await self._sign_in(request, token, browser)
        visit = LinkVisit(request, token, user, client, browser, sign_in)
        if await self._marks.remaining(request.realm.realm.id, _mark_of_use(token)) > _NOT_USED:
            raise _used_link(visit)
        redirect_target(visit)
        await handler.check_visit(visit)
        return visit, handler

    async def _current(
        self, request: ProtocolRequest, token: ActionToken
    ) -> tuple[User, ClientEntry]:
        client = await self._directory.client(request.realm.realm.id, token.client_id)
        issued = IssuedCredential(
            issued_at=token.issued_at.timestamp(),
            client=client,
            session=None if token.session is None else SessionName(token.session),
            part=ClientPart.UNRELATED,
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
        if token.sign_in is None or browser.session_id is None:
            return None
        found = await self._sign_ins.find_tab(
            request.realm.realm.id, browser.session_id, token.sign_in
        )
        return None if found is None or found.user_id != token.user_id else found


_REFUSALS: Final[Mapping[Cause, tuple[PageMessage, str]]] = {
    Cause.USER_REMOVED: (PageMessage.linkNotValidMessage, EventError.USER_NOT_FOUND),
    Cause.USER_DISABLED: (PageMessage.accountDisabledMessage, EventError.USER_DISABLED),
    Cause.CLIENT_UNUSABLE: (PageMessage.clientDisabledMessage, EventError.CLIENT_DISABLED),
    # A change of the address is all that is asked for in a session by a link.
    Cause.SESSION_OVER: (PageMessage.emailVerificationCancelled, EventError.SESSION_EXPIRED),
}
"""Page and error of the event; a link that is refused for another cause has expired."""


def _no_longer_valid(refusal: NoLongerValid, client: ClientEntry | None) -> PageError:
    message, error = _REFUSALS.get(
        refusal.cause, (PageMessage.expiredActionTokenNoSessionMessage, EventError.EXPIRED_CODE)
    )
    if refusal.cause is Cause.CLIENT_UNUSABLE and client is None:
        message, error = PageMessage.clientNotFoundMessage, EventError.CLIENT_NOT_FOUND
    return refused_link(message, error, reason=str(refusal))


def _parsed_link(request: ProtocolRequest, key: str | None) -> ActionToken:
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


def _used_link(visit: LinkVisit) -> PageError:
    return refused_link(
        PageMessage.expiredActionMessage,
        EventError.EXPIRED_CODE,
        reason="the link was used before",
        client=visit.client.client,
    )


def _mark_of_use(token: ActionToken) -> str:
    return f"action-token:{token.id}"
