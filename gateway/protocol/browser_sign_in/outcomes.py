"""What one request of a browser on its way through a sign-in comes to: values for HTTP to show."""

from dataclasses import dataclass, field
from http import HTTPStatus

from gateway.domain.authentication import AuthenticationSession, Challenge
from gateway.domain.clients import Client
from gateway.domain.sessions import UserSession
from gateway.protocol.account_console import AccountResult
from gateway.protocol.consents import ConsentItem
from gateway.protocol.device_authorization import DeviceResult
from gateway.protocol.response_modes import AuthorizationResponse
from gateway.protocol.sign_in_completion import SignInRequest

SignInResponse = AuthorizationResponse | DeviceResult | AccountResult
"""The client's response, what became of a device, or a page of the account console."""


@dataclass(frozen=True, slots=True)
class AskUser:
    """The user fills in the form of a challenge."""

    session: AuthenticationSession
    asked: SignInRequest
    challenge: Challenge
    locale: str = ""
    """The language of the authenticated user; empty before that, and where none is set."""


@dataclass(frozen=True, slots=True)
class AskConsent:
    """The user decides about what the client asks for."""

    session: AuthenticationSession
    asked: SignInRequest
    items: tuple[ConsentItem, ...]
    locale: str = ""
    """The language of the user; empty where none is set."""


@dataclass(frozen=True, slots=True)
class Respond:
    """The client gets its response, or the user sees what became of a device or of an action.

    `signed_in` is the session whose cookies the browser gets, None where nothing has changed.
    `browser_id` is the id of the sign-ins that are left in other tabs, where it may have changed.
    `remember` is the name that the browser keeps where the user asked for it, empty to forget one.
    """

    response: SignInResponse
    signed_in: UserSession | None = None
    browser_id: str | None = None
    remember: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Stop:
    """The sign-in is over without a response for the client: a page says why."""

    message: str
    """The key of a text, or a text."""
    client: Client | None = None
    arguments: tuple[str, ...] = field(default=(), repr=False)
    """What takes the places in the text."""
    status: HTTPStatus = HTTPStatus.BAD_REQUEST
    required_action: str | None = None
    """The alias of the required action that no page performs."""


@dataclass(frozen=True, slots=True)
class Expired:
    """The form belongs to another step: the user restarts, or continues where the sign-in is."""

    session: AuthenticationSession
    asked: SignInRequest


@dataclass(frozen=True, slots=True)
class Inform:
    """The user has done what a link or an action is for: a page says so, and begins no session."""

    message: str
    """The key of a text."""
    client: Client | None = None
    arguments: tuple[str, ...] = field(default=(), repr=False)
    title: str | None = None
    """The key of a text; without it the message is the title."""
    continue_url: str = field(default="", repr=False)
    """Where a button leads to; it was verified to be an address of the client."""
    locale: str = ""
    """The language of the user; empty where none is set."""
    signs_out: bool = False
    """The account is gone, and with it what the browser had of its session."""


@dataclass(frozen=True, slots=True)
class AlreadySignedIn:
    """The sign-in of this page has ended, and the browser has a signed-in user."""


Outcome = AskUser | AskConsent | Respond | Stop | Expired | Inform | AlreadySignedIn
