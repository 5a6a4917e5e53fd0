"""Refusals of the authorization endpoint: pages, and redirects to the client.

OAuthError
├── PageError        shown to the person: the request must not be answered at its redirect URI
└── RedirectError    answered to the client, at the redirect URI that was verified to be its own

Keycloak: 12.10 authorization; Spec: RFC 6749 §4.1.2.1, RFC 9700 §4.11
"""

from enum import StrEnum
from http import HTTPStatus

from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.response_modes import AuthorizationResponse, ResponseTarget


class PageMessage(StrEnum):
    """The messages of error pages: name is Keycloak's message key, value the English text."""

    invalidRequestMessage = "Invalid Request"
    clientNotFoundMessage = "Client not found."
    clientDisabledMessage = "Client disabled."
    bearerOnlyMessage = "Bearer-only applications are not allowed to initiate browser login"
    wrongClientProtocolMessage = "Wrong client protocol."
    missingParameterMessage = "Missing parameters: {0}"
    registrationNotAllowedMessage = "Registration not allowed"
    expiredCodeMessage = "Login timeout. Please sign in again."
    invalidParameterMessage = "Invalid parameter: {0}"
    invalidRedirectUriMessage = "Invalid redirect uri"
    failedLogout = "Logout failed"
    noAccessMessage = "No access"
    accountConsoleDisabledMessage = "Account management is not enabled."
    accountDisabledMessage = "Account is disabled, contact your administrator."
    differentUserAuthenticated = (
        "You are already authenticated as different user '{0}' in this session."
        " Please sign out first."
    )
    expiredActionMessage = "Action expired. Please continue with login now."
    expiredActionTokenNoSessionMessage = "Action expired."
    staleEmailVerificationLink = (
        "The link you clicked is an old stale link and is no longer valid."
        " Maybe you have already verified your email."
    )
    emailVerificationCancelled = "The change of the email address was cancelled."
    invalidTokenRequiredActions = "Required actions included in the link are not valid."
    resetCredentialNotAllowedMessage = "Reset Credential not allowed"
    linkNotValidMessage = (
        "This link is not valid. Open the whole link of the mail, or ask for a new one."
    )
    siteClientUnusableMessage = (
        "The application cannot be used to sign in here. Contact your administrator."
    )

    oauth2DeviceAuthorizationGrantDisabledMessage = (
        "Client is not allowed to initiate OAuth 2.0 Device Authorization Grant."
        " The flow is disabled for the client."
    )

    @property
    def key(self) -> str:
        return self.name

    def text(self, *arguments: str) -> str:
        """Return the English text."""
        return self.value.format(*arguments)


class PageError(OAuthError):
    """A refusal that is shown as a page, never sent to a redirect URI.

    `message` and `arguments` are its text, `error` and `description` the answer to a push. It leads
    back to `client`.
    """

    def __init__(
        self,
        message: PageMessage,
        *arguments: str,
        event_error: str,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        error: str = "invalid_request",
        reason: str | None = None,
        client: Client | None = None,
    ) -> None:
        super().__init__(
            error,
            message.text(*arguments),
            status=status,
            reason=reason,
            event=EventFailure(event_error, reason),
        )
        self.message = message
        self.arguments = arguments
        self.client = client


def invalid_request_page(
    reason: str, *, error: str = "invalid_request", client: Client | None = None
) -> PageError:
    """Return the page that says no more than "Invalid Request"; the event has the reason."""
    return PageError(
        PageMessage.invalidRequestMessage,
        event_error=EventError.INVALID_REQUEST,
        error=error,
        reason=reason,
        client=client,
    )


class RedirectError(OAuthError):
    """A refusal that the client receives at `target`."""

    def __init__(
        self,
        error: str,
        description: str | None,
        target: ResponseTarget,
        *,
        event: EventFailure | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(error, description, reason=reason, event=event)
        self.target = target

    @property
    def response(self) -> AuthorizationResponse:
        """The response for `gateway.protocol.response_modes.deliver_response`."""
        parameters = {"error": self.error}
        if self.description is not None:
            parameters["error_description"] = self.description
        return AuthorizationResponse(self.target, parameters)


def policy_refusal_page(refusal: OAuthError) -> PageError:
    """Return the refusal by a client policy as a page: no redirect URI is verified yet."""
    page = invalid_request_page(refusal.reason or refusal.error, error=refusal.error)
    page.event = refusal.event
    return page
