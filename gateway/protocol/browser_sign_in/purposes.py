"""What a sign-in is for: it decides what follows when the user has signed in, or refuses.

A client gets its response; a device is connected; a page of the account console is shown. The
request that a sign-in keeps says which.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gateway.client_policies import EnforcedFlow
from gateway.domain.events import EventError
from gateway.domain.sessions import UserSession
from gateway.domain.users import User
from gateway.protocol.account_console import (
    AccountResult,
    AccountVisit,
    ConsoleClients,
    names_account_page,
)
from gateway.protocol.authorization import (
    AuthorizationEndpoint,
    AuthorizationRequest,
    PageError,
    PageMessage,
    RedirectError,
)
from gateway.protocol.browser_sign_in.followed_links import (
    FollowedLink,
    LinkPurpose,
    names_link,
    restore_link,
)
from gateway.protocol.browser_sign_in.outcomes import Inform, Respond, SignInResponse, Stop
from gateway.protocol.device_authorization import (
    DeviceApprovals,
    DeviceConnection,
    UserCodes,
    names_device,
)
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sign_in_results.completion import SignInCompletion
from gateway.protocol.sign_in_results.session_joining import FinishedSignIn, SessionJoining
from gateway.protocol.sign_in_results.sign_in_request import SignInRequest


class Purpose(Protocol):
    """What one sign-in is for. Methods raise StoreUnavailable."""

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
    ) -> Respond | Stop:
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
    is_always_confirmed: bool = False
    has_flow: bool = True

    @property
    def enforced_flow(self) -> EnforcedFlow | None:
        return self.asked.enforced_flow

    def final_page(self, user: User) -> Inform | None:  # noqa: ARG002
        return None

    async def complete(
        self, request: ProtocolRequest, finished: FinishedSignIn
    ) -> tuple[SignInResponse, UserSession]:
        await self.endpoint.use_up(request, self.asked)
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
        failure = _failure(event_error)
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
        return OAuthError(error, description, event=_failure(event_error))


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
        refusal.event = _failure(event_error)
        return refusal


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

    def of_client(self, asked: AuthorizationRequest) -> Purpose:
        return ClientPurpose(asked, self._endpoint, self._completion)

    def of_device(self, device: DeviceConnection) -> Purpose:
        return DevicePurpose(device, self._approvals)

    def of_account(self, visit: AccountVisit) -> Purpose:
        return AccountPurpose(visit, self._joining)

    @staticmethod
    def of_link(link: FollowedLink) -> Purpose:
        return LinkPurpose(link)

    async def resume(self, request: ProtocolRequest, stored: Mapping[str, str]) -> Purpose:
        """Return the purpose that a sign-in has stored.

        Raises PageError where the client has changed meanwhile, StoredRequestUnusable and
        StoreUnavailable.
        """
        if names_device(stored):
            return self.of_device(await self._user_codes.resume(request, stored))
        if names_account_page(stored):
            return self.of_account(await self._console.resume(request, stored))
        if names_link(stored):
            client = await self._endpoint.find_client(request, stored)
            return self.of_link(restore_link(stored, request, client))
        return self.of_client(await self._endpoint.resume(request, stored))

    async def sent_back(
        self, request: ProtocolRequest, client_id: str, client_data: Mapping[str, str]
    ) -> Purpose:
        """Return what the browser says was asked for: the redirect URI is verified, no more."""
        stored = {"scope": "", **client_data, "client_id": client_id}
        return await self.resume(request, stored)


def _failure(event_error: str | None) -> EventFailure | None:
    return None if event_error is None else EventFailure(event_error)
