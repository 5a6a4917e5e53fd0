"""Tokens that only their sender can use: bound to a certificate, to a DPoP key, or to both."""

from gateway.protocol.sender_constraint.certificates import (
    RenewedCertificates,
    bound_certificate,
    presents_certificate,
    renewal_claim,
)
from gateway.protocol.sender_constraint.constraint import (
    KEY,
    SenderConstraint,
    TokenCredential,
    binding_of,
    certificate_claims,
    confirmation_claim,
    is_bound_to_key,
    proved_binding,
    refresh_confirmation,
    require_key_of_code,
    token_credential,
)
from gateway.protocol.sender_constraint.dpop_proofs import ProofChecks, current_nonce

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
