"""Results of a browser's request for a sign-in: those of the engine, consent, and responses."""

from dataclasses import dataclass, field

from gateway.authentication.engine import Challenged, Inform, PageExpired, Refused
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.clients import Client
from gateway.domain.sessions import UserSession
from gateway.protocol.account_console import AccountResult
from gateway.protocol.consents import ConsentItem
from gateway.protocol.device_authorization import DeviceResult
from gateway.protocol.response_modes import AuthorizationResponse

SignInResponse = AuthorizationResponse | DeviceResult | AccountResult
"""The response for the client, the result of a device, or a page of the account console."""


@dataclass(frozen=True, slots=True)
class AskConsent:
    """The user decides about the scopes that the client asks for."""

    session: AuthenticationSession
    client: Client
    items: tuple[ConsentItem, ...]
    username: str
    locale: str = ""
    """The language of the user; empty where none is set."""


@dataclass(frozen=True, slots=True)
class Respond:
    """The client gets its response, or the user sees the result of a device or of an action.

    `signed_in` is the session whose cookies the browser gets, None where nothing has changed.
    `browser_id` is the id of the sign-ins that are left in other tabs, where it may have changed.
    `remember` is the name that the browser keeps where the user asked for it, empty to forget one.
    """

    response: SignInResponse
    signed_in: UserSession | None = None
    browser_id: str | None = None
    remember: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AlreadySignedIn:
    """The sign-in of this page has ended, and the browser has a signed-in user."""


Outcome = Challenged | Refused | Inform | PageExpired | AskConsent | Respond | AlreadySignedIn
"""The results of the engine, in which SignedIn has become consent or a response."""
