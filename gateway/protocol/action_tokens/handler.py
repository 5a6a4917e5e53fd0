"""One kind of link: what it needs, what its page says, and what its button does."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from gateway.authentication.engine import AccountChange
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.authentication.action_tokens import ActionToken, ActionTokenKind
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.directory import ClientEntry
from gateway.domain.users import User
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import Browser, Outcome, validate_target
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class LinkVisit:
    """A link that a browser has opened: its token holds, its user is enabled, its client known.

    `sign_in` is the sign-in of this browser that the link was asked for in; None where it has
    ended, and in another browser.
    """

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
    """What the page of a link says before anything happens.

    `message` is the key of a text, `actions` are aliases of required actions, listed below it.
    """

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
    """What is recorded where the link holds."""

    async def check(self, visit: LinkVisit) -> None:
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
