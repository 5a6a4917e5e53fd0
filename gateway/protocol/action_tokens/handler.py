"""One kind of link: what it needs, what its page says, and what its button does."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from gateway.domain.action_tokens import ActionToken, ActionTokenKind
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.clients import Client
from gateway.domain.events import EventType
from gateway.domain.ports.directory import ClientEntry
from gateway.domain.users import User
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.browser_sign_in import Browser, Outcome
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

    def check(self, visit: LinkVisit) -> None:
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
