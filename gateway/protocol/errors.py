"""Refusals of the protocol endpoints, with the texts that clients match on.

OAuthError
├── ClientAuthenticationFailed    the caller did not prove to be the client it names
├── BearerChallenge               an invalid bearer token, answered in WWW-Authenticate
└── ProofRefused                  a token without the right DPoP proof, answered there too

Spec: RFC 6749 §5.2, RFC 6750 §3.1; Keycloak: error-body family A
"""

from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import ClassVar

from gateway.domain.errors import RealmgateError
from gateway.domain.events import Detail, EventError


@dataclass(frozen=True, slots=True)
class EventFailure:
    """The error and the reason of the event of a refused request; `detail` names the reason."""

    error: str
    reason: str | None = None
    detail: str = Detail.REASON


class OAuthError(RealmgateError):
    """A refusal with an OAuth code and a public description.

    `reason` is for the log. Without an `event` it is not recorded. `nonce` is for the next DPoP
    proof. After `retry_after` the request may be repeated.
    """

    default_status: ClassVar = HTTPStatus.BAD_REQUEST

    def __init__(
        self,
        error: str = "",
        description: str | None = None,
        *,
        status: HTTPStatus | None = None,
        reason: str | None = None,
        event: EventFailure | None = None,
        nonce: str | None = None,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(f"{error}: {reason or description}")
        self.error = error
        self.description = description
        self.status = status or self.default_status
        self.reason = reason or description
        self.event = event
        self.nonce = nonce
        self.retry_after = retry_after


class ClientAuthenticationFailed(OAuthError):
    """One public text for every cause but certificates, so that guessers learn nothing."""

    default_status: ClassVar = HTTPStatus.UNAUTHORIZED
    public_text: ClassVar = "Invalid client or Invalid client credentials"

    def __init__(
        self,
        error: str = "invalid_client",
        description: str = public_text,
        *,
        reason: str,
        event_error: str = EventError.INVALID_CLIENT_CREDENTIALS,
    ) -> None:
        super().__init__(error, description, reason=reason, event=EventFailure(event_error))


class BearerChallenge(OAuthError):
    """A refusal by header; `error` is empty where no token was sent. Spec: RFC 6750 §3."""

    default_status: ClassVar = HTTPStatus.UNAUTHORIZED


class ProofRefused(OAuthError):
    """A missing or wrong DPoP proof, or scheme DPoP for an unbound token. Spec: RFC 9449 §7.1."""

    default_status: ClassVar = HTTPStatus.UNAUTHORIZED

    def __init__(self, error: str, description: str, *, nonce: str | None = None) -> None:
        failure = EventFailure(EventError.INVALID_TOKEN, description)
        # That a nonce is needed is the first half of every conversation with nonces: not recorded.
        super().__init__(error, description, event=failure if nonce is None else None, nonce=nonce)


def duplicated_parameter() -> OAuthError:
    """Return the refusal of a request that names a parameter twice."""
    return OAuthError("invalid_request", "duplicated parameter")


def refused(
    error: str,
    description: str,
    event_error: str,
    *,
    status: HTTPStatus | None = None,
    reason: str | None = None,
    detail: str = Detail.REASON,
) -> OAuthError:
    """Return a refusal whose event gives the public description as its reason."""
    failure = EventFailure(event_error, description, detail)
    return OAuthError(error, description, status=status, reason=reason, event=failure)
