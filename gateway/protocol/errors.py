"""Refusals of the protocol endpoints, in the words that clients match on.

OAuthError
├── ClientAuthenticationFailed    the caller did not prove to be the client it names
└── BearerChallenge               a bearer token that does not hold, told in WWW-Authenticate

Spec: RFC 6749 §5.2, RFC 6750 §3.1; Keycloak: error-body family A
"""

from dataclasses import dataclass
from http import HTTPStatus

from gateway.domain.errors import RealmgateError
from gateway.domain.events import INVALID_CLIENT_CREDENTIALS, REASON


@dataclass(frozen=True, slots=True)
class EventFailure:
    """What the event of a refused request tells: Keycloak's name of the error, and why.

    Without a reason the name says it all; `told_as` is the detail in which the reason stands.
    """

    error: str
    reason: str | None = None
    told_as: str = REASON


class OAuthError(RealmgateError):
    """A refusal with an OAuth code and a public description.

    `reason` is for the operator's log: it may say what the public text must not. A refusal without
    an `event` is not recorded.
    """

    def __init__(
        self,
        error: str,
        description: str | None = None,
        *,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        reason: str | None = None,
        event: EventFailure | None = None,
    ) -> None:
        """Refuse with `error` and what the client may read about it."""
        super().__init__(f"{error}: {reason or description}")
        self.error = error
        self.description = description
        self.status = status
        self.reason = reason or description
        self.event = event


class ClientAuthenticationFailed(OAuthError):
    """One public text for every cause, so that a guesser learns nothing."""

    def __init__(
        self,
        error: str = "invalid_client",
        description: str = "Invalid client or Invalid client credentials",
        *,
        reason: str,
        event_error: str = INVALID_CLIENT_CREDENTIALS,
    ) -> None:
        """Refuse the caller; `reason` stays in the log."""
        super().__init__(
            error,
            description,
            status=HTTPStatus.UNAUTHORIZED,
            reason=reason,
            event=EventFailure(event_error),
        )


class BearerChallenge(OAuthError):
    """A refusal by header with an empty body; `error` is empty where no token came at all."""

    def __init__(
        self,
        error: str = "",
        description: str | None = None,
        *,
        status: HTTPStatus = HTTPStatus.UNAUTHORIZED,
        reason: str | None = None,
        event: EventFailure | None = None,
    ) -> None:
        """Ask for a bearer token. Spec: RFC 6750 §3."""
        super().__init__(error, description, status=status, reason=reason, event=event)


def duplicated_parameter(event: EventFailure | None = None) -> OAuthError:
    """Refuse a request in which a name was sent twice."""
    return OAuthError("invalid_request", "duplicated parameter", event=event)
