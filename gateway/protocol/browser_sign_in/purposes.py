"""The purposes of a sign-in: each decides what follows when the user has signed in, or refuses.

Keycloak: 16.2 mailed links, ExecuteActionsActionTokenHandler (links of mails)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Protocol

from gateway.authentication.engine import Inform, Refused
from gateway.authentication.errors import SignInStopped
from gateway.client_policies import EnforcedFlow
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
    Prompt,
    RedirectError,
    RequestedLevel,
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
from gateway.protocol.scopes import GrantedScopes, still_granted
from gateway.protocol.sign_in_completion import (
    FinishedSignIn,
    SessionJoining,
    SignInCompletion,
    SignInRequest,
)

_LINK_NOTE: Final = "followed_link"
_REDIRECT_URI: Final = "link_redirect_uri"


@dataclass(frozen=True, slots=True)
class FollowedLink:
    """The client that the link was made for, and where the page at the end leads to.

    The link begins no session: a page at its end says that the account was updated. The flow of the
    client is not run, as the link has proven the user. Keycloak: ExecuteActionsActionTokenHandler,
    16.2 mailed links
    """

    client: ClientEntry = field(repr=False)
    scopes: GrantedScopes = field(repr=False)
    redirect_uri: str = field(default="", repr=False)
    prompt: frozenset[Prompt] = frozenset()
    max_age: timedelta | None = None
    action: str | None = None
    action_parameter: str | None = None
    login_hint: str | None = None
    hinted_user: str | None = None
    level: RequestedLevel | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    event_details: Mapping[str, str] = field(default_factory=dict)

    def stored(self) -> Mapping[str, str]:
        """Return the link as text by names; `restore_link` reads it."""
        return {
            "client_id": self.client.client.client_id,
            _LINK_NOTE: "true",
            _REDIRECT_URI: self.redirect_uri,
        }


def followed_link(realm: RealmEntry, client: ClientEntry, redirect_uri: str = "") -> FollowedLink:
    """Return a link of a client; `redirect_uri` was verified."""
    return FollowedLink(client, still_granted(realm, client.client, ()), redirect_uri)


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
class LinkPurpose:
    """The user performs the actions of a link."""

    asked: FollowedLink
    is_always_confirmed: bool = False
    has_flow: bool = False
    enforced_flow: EnforcedFlow | None = None

    def final_page(self, user: User) -> Inform | None:
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
        request.event.fail(error.event_error)
        return Refused(error, self.asked.client.client)

    def refusal(
        self, error: str, event_error: str | None, description: str | None = None
    ) -> OAuthError:
        event = None if event_error is None else EventFailure(event_error)
        return OAuthError(error, description, event=event)


class Purpose(Protocol):
    """What one sign-in is for. Methods raise StoreUnavailable.

    A client gets its response; a device is connected; a page of the account console is shown. The
    request that a sign-in keeps says which.
    """

    @property
    def asked(self) -> SignInRequest: ...

    @property
    def is_always_confirmed(self) -> bool:
        """Whether the user is asked even where the client requires no consent, or has it."""
        ...

    @property
    def has_flow(self) -> bool:
        """Whether the user signs in by the client's flow, which can be started over."""
        ...

    @property
    def enforced_flow(self) -> EnforcedFlow | None:
        """The flow that client policies choose in place of the client's."""
        ...

    def final_page(self, user: User) -> Inform | None:
        """Return the page of a sign-in that begins no session; None where a response follows."""
        ...

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        """Return what the sign-in comes to; raises as `SessionJoining.join` does."""
        ...

    async def reject(
        self, request: ProtocolRequest, description: str | None = None
    ) -> Respond | Refused:
        """Note that the user has refused; raises OAuthError where the client gets an error."""
        ...

    def refusal(
        self, error: str, event_error: str | None, description: str | None = None
    ) -> OAuthError:
        """Return an error that ends the sign-in; it is not recorded without an `event_error`."""
        ...


@dataclass(frozen=True, slots=True)
class ClientPurpose:
    """A client gets the response to its authorization request."""

    asked: AuthorizationRequest
    endpoint: AuthorizationEndpoint = field(repr=False)
    completion: SignInCompletion = field(repr=False)
    enforced_flow: EnforcedFlow | None
    is_always_confirmed: bool = False
    has_flow: bool = True

    def final_page(self, user: User) -> Inform | None:  # noqa: ARG002
        return None

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        if self.asked.pushed_reference is not None:
            await self.endpoint.use_up(request, self.asked, self.asked.pushed_reference)
        completed = await self.completion.complete(request, self.asked, finished)
        return completed.response, completed.session

    async def reject(
        self,
        request: ProtocolRequest,  # noqa: ARG002
        description: str | None = None,
    ) -> Respond:
        raise self.refusal("access_denied", EventError.REJECTED_BY_USER, description)

    def refusal(
        self, error: str, event_error: str | None, description: str | None = None
    ) -> OAuthError:
        failure = _failure_of_client(event_error)
        return RedirectError(error, description, self.asked.target, event=failure)


@dataclass(frozen=True, slots=True)
class DevicePurpose:
    """A device gets its tokens.

    Its user is asked in any case: a link of an attacker may have led here, and who is signed in
    would connect the attacker's device without noticing. Spec: RFC 8628 §5.4
    """

    asked: DeviceConnection
    approvals: DeviceApprovals = field(repr=False)
    is_always_confirmed: bool = True
    has_flow: bool = True
    enforced_flow: EnforcedFlow | None = None

    def final_page(self, user: User) -> Inform | None:  # noqa: ARG002
        return None

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        return await self.approvals.approve(request, self.asked, finished)

    async def reject(
        self,
        request: ProtocolRequest,
        description: str | None = None,  # noqa: ARG002 - a device reads one text
    ) -> Respond:
        request.event.fail(EventError.REJECTED_BY_USER)
        return Respond(await self.approvals.deny(request, self.asked))

    def refusal(
        self, error: str, event_error: str | None, description: str | None = None
    ) -> OAuthError:
        return OAuthError(error, description, event=_failure_of_client(event_error))


@dataclass(frozen=True, slots=True)
class AccountPurpose:
    """The browser goes to a page of the account console, signed in, without a code."""

    asked: AccountVisit
    joining: SessionJoining = field(repr=False)
    is_always_confirmed: bool = False
    has_flow: bool = True
    enforced_flow: EnforcedFlow | None = None

    def final_page(self, user: User) -> Inform | None:  # noqa: ARG002
        return None

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        joined = await self.joining.join(request, self.asked, finished)
        status = finished.action.get("kc_action_status", "")
        action = finished.action.get("kc_action", "")
        return AccountResult(self.asked.page, action, status), joined.session

    async def reject(
        self,
        request: ProtocolRequest,  # noqa: ARG002
        description: str | None = None,  # noqa: ARG002 - the page says that there is no access
    ) -> Respond:
        raise self.refusal("access_denied", EventError.REJECTED_BY_USER)

    def refusal(
        self,
        error: str,
        event_error: str | None,
        description: str | None = None,  # noqa: ARG002
    ) -> OAuthError:
        refusal = PageError(
            PageMessage.noAccessMessage,
            event_error=event_error or "",
            error=error,
            client=self.asked.client.client,
        )
        refusal.event = _failure_of_client(event_error)
        return refusal


Asked = AuthorizationRequest | DeviceConnection | AccountVisit | FollowedLink
"""What a sign-in is begun for."""


class Purposes:
    """Returns the purpose of a sign-in that begins or continues."""

    def __init__(
        self,
        *,
        endpoint: AuthorizationEndpoint,
        completion: SignInCompletion,
        user_codes: UserCodes,
        approvals: DeviceApprovals,
        console: ConsoleClients,
        joining: SessionJoining,
    ) -> None:
        self._endpoint = endpoint
        self._completion = completion
        self._user_codes = user_codes
        self._approvals = approvals
        self._console = console
        self._joining = joining

    def of(self, asked: Asked) -> Purpose:
        """Return the purpose of what was asked for."""
        match asked:
            case AuthorizationRequest():
                endpoint, completion = self._endpoint, self._completion
                return ClientPurpose(asked, endpoint, completion, asked.enforced_flow)
            case DeviceConnection():
                return DevicePurpose(asked, self._approvals)
            case AccountVisit():
                return AccountPurpose(asked, self._joining)
            case FollowedLink():
                return LinkPurpose(asked)

    async def resume(self, request: ProtocolRequest, stored: Mapping[str, str]) -> Purpose:
        """Return the purpose that a sign-in has stored.

        Raises PageError where the client has changed meanwhile, StoredRequestUnusable and
        StoreUnavailable.
        """
        if DEVICE_NOTE in stored:
            return self.of(await self._user_codes.resume_device(request, stored))
        if ACCOUNT_NOTE in stored:
            return self.of(await self._console.resume(request, stored))
        if _LINK_NOTE in stored:
            client = await self._endpoint.find_client(request, stored)
            return self.of(restore_link(stored, request, client))
        return self.of(await self._endpoint.resume_request(request, stored))

    async def sent_back(
        self, request: ProtocolRequest, client_id: str, client_data: Mapping[str, str]
    ) -> Purpose:
        """Return what the browser says was asked for: the redirect URI is verified, no more."""
        stored = {"scope": "", **client_data, "client_id": client_id}
        return await self.resume(request, stored)


def _failure_of_client(event_error: str | None) -> EventFailure | None:
    return None if event_error is None else EventFailure(event_error)
