"""Tokens that only their sender can use: bound to a certificate, to a DPoP key, or to both."""

from gateway.protocol.sender_constraint.certificate_binding import (
    bound_certificate,
    presents,
)
from gateway.protocol.sender_constraint.constraint import (
    KEY,
    SenderConstraint,
    binding_of,
    certificate_claims,
    confirmation_claim,
    is_bound_to_key,
    proved_binding,
    refresh_confirmation,
    require_key_of_code,
)
from gateway.protocol.sender_constraint.credential import TokenCredential, token_credential
from gateway.protocol.sender_constraint.nonces import current_nonce
from gateway.protocol.sender_constraint.proof_checks import ProofChecks
from gateway.protocol.sender_constraint.renewed_certificates import (
    RenewedCertificates,
    renewal_claim,
)

__all__ = (
    "KEY",
    "ProofChecks",
    "RenewedCertificates",
    "SenderConstraint",
    "TokenCredential",
    "binding_of",
    "bound_certificate",
    "certificate_claims",
    "confirmation_claim",
    "current_nonce",
    "is_bound_to_key",
    "presents",
    "proved_binding",
    "refresh_confirmation",
    "renewal_claim",
    "require_key_of_code",
    "token_credential",
)
