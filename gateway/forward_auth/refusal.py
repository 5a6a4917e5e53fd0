"""Why a credential that was sent identifies no caller."""

from gateway.domain.forward_auth import Reason

INVALID_TOKEN = "invalid_token"  # noqa: S105 - an error code
"""RFC 6750 §3.1."""


class CredentialRefused(Exception):
    """The credential must not be used; `str()` is the explanation, free of secrets."""

    def __init__(self, reason: Reason, explanation: str, error: str | None = None) -> None:
        """Take the error code of RFC 6750 §3.1; None where the credential is no token."""
        super().__init__(explanation)
        self.reason = reason
        self.error = error
