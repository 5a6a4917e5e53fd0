"""Refusals of the protocol endpoints, in the words that clients match on.

OAuthError
├── ClientAuthenticationFailed    the caller did not prove to be the client it names
└── BearerChallenge               a bearer token that does not hold, told in WWW-Authenticate

Spec: RFC 6749 §5.2, RFC 6750 §3.1; Keycloak: error-body family A
"""

from http import HTTPStatus

from gateway.domain.errors import RealmgateError


class OAuthError(RealmgateError):
    """A refusal with an OAuth code and a public description.

    `reason` is for the operator's log: it may say what the public text must not.
    """

    def __init__(
        self,
        error: str,
        description: str | None = None,
        *,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        reason: str | None = None,
    ) -> None:
        """Refuse with `error` and what the client may read about it."""
        super().__init__(f"{error}: {reason or description}")
        self.error = error
        self.description = description
        self.status = status
        self.reason = reason or description


class ClientAuthenticationFailed(OAuthError):
    """One public text for every cause, so that a guesser learns nothing."""

    def __init__(
        self,
        error: str = "invalid_client",
        description: str = "Invalid client or Invalid client credentials",
        *,
        reason: str,
    ) -> None:
        """Refuse the caller; `reason` stays in the log."""
        super().__init__(
            error,
            description,
            status=HTTPStatus.UNAUTHORIZED,
            reason=reason,
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
    ) -> None:
        """Ask for a bearer token. Spec: RFC 6750 §3."""
        super().__init__(error, description, status=status, reason=reason)


def duplicated_parameter() -> OAuthError:
    """Refuse a request in which a name was sent twice."""
    return OAuthError("invalid_request", "duplicated parameter")
