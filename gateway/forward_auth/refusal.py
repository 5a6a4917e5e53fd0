"""Why a credential that was sent identifies no caller."""

from gateway.domain.forward_auth import Reason


class CredentialRefused(Exception):
    """The credential must not be used; `str()` is the explanation, free of secrets."""

    def __init__(self, reason: Reason, explanation: str) -> None:
        super().__init__(explanation)
        self.reason = reason
