"""Why a credential that was sent identifies no caller."""

from gateway.domain.forward_auth import ProofChallenge, Reason


class CredentialRefused(Exception):
    """The credential must not be used; `str()` is the explanation, free of secrets."""

    def __init__(
        self, reason: Reason, explanation: str, *, proof: ProofChallenge | None = None
    ) -> None:
        """Take `proof`, the text for the caller where a DPoP proof is missing or wrong."""
        super().__init__(explanation)
        self.reason = reason
        self.proof = proof
