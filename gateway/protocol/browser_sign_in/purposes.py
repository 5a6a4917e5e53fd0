"""The purposes of a sign-in: each has its response to a user who has signed in, or refuses.

Keycloak: 16.2 mailed links, ExecuteActionsActionTokenHandler (links of mails)
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from gateway.authentication.engine import Inform, Refused
from gateway.authentication.errors import SignInStopped
from gateway.domain.authentication import MessageKey
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.ports.lookups import ClientEntry, RealmEntry
from gateway.domain.sessions import UserSession
from gateway.domain.users import User
from gateway.protocol.account_console import (
    ACCOUNT_NOTE,
    AccountResult,
    AccountVisit,
    ConsoleClients,
)
from gateway.protocol.authorization import (
    AuthorizationEndpoint,
    AuthorizationRequest,
    PageError,
    PageMessage,
    RedirectError,
    SignInRequest,
)
from gateway.protocol.browser_sign_in.outcomes import Respond, SignInResponse
from gateway.protocol.device_authorization import (
    DEVICE_NOTE,
    DeviceApprovals,
    DeviceConnection,
    UserCodes,
)
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import still_granted
from gateway.protocol.sign_in_completion import FinishedSignIn, SessionJoining, SignInCompletion

_LINK_NOTE: Final = "followed_link"
_REDIRECT_URI: Final = "link_redirect_uri"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedLink(SignInRequest):
    """The client that the link was made for, and where the page at the end leads to.

    The link begins no session: a page at its end says that the account was updated. The flow of the
    client is not run, as the link has proven the user. Keycloak: ExecuteActionsActionTokenHandler,
    16.2 mailed links
    """

    redirect_uri: str = field(default="", repr=False)
    """It was verified to be an address of the client; empty without one."""

    def stored(self) -> Mapping[str, str]:
        """Return the link as text by names; `restore_link` reads it."""
        return {
            "client_id": self.client.client.client_id,
            _LINK_NOTE: "true",
            _REDIRECT_URI: self.redirect_uri,
        }


def followed_link(realm: RealmEntry, client: ClientEntry, redirect_uri: str = "") -> FollowedLink:
    """Return a link of a client; `redirect_uri` was verified."""
    scopes = still_granted(realm, client.client, ())
    return FollowedLink(client=client, scopes=scopes, redirect_uri=redirect_uri)


def restore_link(
    stored: Mapping[str, str], request: ProtocolRequest, client: ClientEntry
) -> FollowedLink:
    """Return the link that `stored` was written from.

    Raises PageError where its redirect URI is none of the client's any more.
    """
    target = validate_target(request, client.client, stored.get(_REDIRECT_URI) or None)
    return followed_link(request.realm, client, target)


def validate_target(request: ProtocolRequest, client: Client, uri: str | None) -> str:
    """Return where the page at the end of a link leads to, "" for nowhere.

    Raises PageError where the address is none of the client's any more.
    """
    if uri is None or client.redirects.match(uri, request.issuer.partition("/realms/")[0]):
        return uri or ""
    raise PageError(
        PageMessage.invalidRedirectUriMessage,
        event_error=EventError.INVALID_REDIRECT_URI,
        reason="not an address of the client",
        client=client,
    )


@dataclass(frozen=True, slots=True)
class Purpose(ABC):
    """What one sign-in is for. Methods raise StoreUnavailable.

    A client gets its response; a device is connected; a page of the account console is shown; the
    user of a mailed link performs actions. The request that a sign-in keeps says which.
    """

    asked: SignInRequest
    is_always_confirmed: ClassVar[bool] = False
    """Whether the user is asked even where the client requires no consent, or has it."""
    has_flow: ClassVar[bool] = True
    """Whether the user signs in by the client's flow, which can be started over."""

    @abstractmethod
    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        """Return the response of the sign-in; raises as `SessionJoining.join` does."""

    async def reject(
        self,
        request: ProtocolRequest,  # noqa: ARG002
        description: str | None = None,
    ) -> Respond | Refused:
        """Note that the user has refused; raises OAuthError where the client gets an error."""
        raise self.refusal("access_denied", EventError.REJECTED_BY_USER, description)

    def refusal(
        self, error: str, event_error: str | None, description: str | None = None
    ) -> OAuthError:
        """Return an error that ends the sign-in; it is not recorded without an `event_error`."""
        return OAuthError(error, description, event=_event_failure(event_error))


def _event_failure(event_error: str | None) -> EventFailure | None:
    return None if event_error is None else EventFailure(event_error)


@dataclass(frozen=True, slots=True)
class LinkPurpose(Purpose):
    """The user performs the actions of a link."""

    asked: FollowedLink
    has_flow: ClassVar[bool] = False

    def final_page(self, user: User) -> Inform:
        """Return the page at the end of the actions, which begin no session."""
        return Inform(
            MessageKey.ACCOUNT_UPDATED,
            self.asked.client.client,
            continue_url=self.asked.redirect_uri,
            locale=user.locale,
        )

    async def complete(
        self,
        request: ProtocolRequest,  # noqa: ARG002
        finished: FinishedSignIn,  # noqa: ARG002
    ) -> tuple[SignInResponse, UserSession]:
        """Raise OAuthError: a link begins no session."""
        raise self.refusal("access_denied", EventError.NOT_ALLOWED)

    async def reject(
        self,
        request: ProtocolRequest,
        description: str | None = None,  # noqa: ARG002 - no client reads it
    ) -> Refused:
        error = SignInStopped(EventError.REJECTED_BY_USER, MessageKey.ACCESS_DENIED)
        request.event.error = error.event_error
        return Refused(error, self.asked.client.client)


@dataclass(frozen=True, slots=True)
class ClientPurpose(Purpose):
    """A client gets the response to its authorization request."""

    asked: AuthorizationRequest
    endpoint: AuthorizationEndpoint = field(repr=False)
    completion: SignInCompletion = field(repr=False)

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        if self.asked.pushed_reference is not None:
            await self.endpoint.use_up(request, self.asked, self.asked.pushed_reference)
        return await self.completion.complete(request, self.asked, finished)

    def refusal(
        self, error: str, event_error: str | None, description: str | None = None
    ) -> OAuthError:
        failure = _event_failure(event_error)
        return RedirectError(error, description, self.asked.target, event=failure)


@dataclass(frozen=True, slots=True)
class DevicePurpose(Purpose):
    """A device gets its tokens.

    Its user is asked in any case: a link of an attacker may have led here, and a signed-in user
    would connect the attacker's device without noticing. Spec: RFC 8628 §5.4
    """

    asked: DeviceConnection
    approvals: DeviceApprovals = field(repr=False)
    is_always_confirmed: ClassVar[bool] = True

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        return await self.approvals.approve(request, self.asked, finished)

    async def reject(
        self,
        request: ProtocolRequest,
        description: str | None = None,  # noqa: ARG002 - a device reads one text
    ) -> Respond:
        request.event.error = EventError.REJECTED_BY_USER
        return Respond(await self.approvals.deny(request, self.asked))


@dataclass(frozen=True, slots=True)
class AccountPurpose(Purpose):
    """The browser goes to a page of the account console, signed in, without a code."""

    asked: AccountVisit
    joining: SessionJoining = field(repr=False)

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        joined = await self.joining.join(request, self.asked, finished)
        status = finished.action.get("kc_action_status", "")
        action = finished.action.get("kc_action", "")
        return AccountResult(self.asked.page, action, status), joined.session

    def refusal(
        self,
        error: str,
        event_error: str | None,
        description: str | None = None,  # noqa: ARG002 - the page says that there is no access
    ) -> OAuthError:
        refusal = PageError(
            PageMessage.noAccessMessage,
            event_error=event_error or "",
            error=error,
            client=self.asked.client.client,
        )
        refusal.event = _event_failure(event_error)
        return refusal


@dataclass(frozen=True, slots=True)
class Purposes:
    """Returns the purpose of a sign-in that begins or continues."""

    endpoint: AuthorizationEndpoint
    completion: SignInCompletion
    user_codes: UserCodes
    approvals: DeviceApprovals
    console: ConsoleClients
    joining: SessionJoining

    def purpose_of(self, asked: SignInRequest) -> Purpose:
        """Return the purpose of a request."""
        match asked:
            case AuthorizationRequest():
                return ClientPurpose(asked, self.endpoint, self.completion)
            case DeviceConnection():
                return DevicePurpose(asked, self.approvals)
            case AccountVisit():
                return AccountPurpose(asked, self.joining)
            case FollowedLink():
                return LinkPurpose(asked)
        raise TypeError(f"a sign-in for {type(asked).__name__} has no purpose")

    async def restore_purpose(self, request: ProtocolRequest, stored: Mapping[str, str]) -> Purpose:
        """Return the purpose that a sign-in has stored.

        Raises PageError where the client has changed meanwhile, StoredRequestUnusable and
        StoreUnavailable.
        """
        if DEVICE_NOTE in stored:
            return self.purpose_of(await self.user_codes.resume_device(request, stored))
        if ACCOUNT_NOTE in stored:
            return self.purpose_of(await self.console.resume(request, stored))
        if _LINK_NOTE in stored:
            client = await self.endpoint.find_client(request, stored)
            return self.purpose_of(restore_link(stored, request, client))
        return self.purpose_of(await self.endpoint.resume_request(request, stored))
