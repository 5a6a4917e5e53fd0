"""Tokens that only their sender can use: bound to a certificate, to a DPoP key, or to both.

Spec: RFC 8705 §3, RFC 9449 §6
"""

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
    "presents_certificate",
    "proved_binding",
    "refresh_confirmation",
    "renewal_claim",
    "require_key_of_code",
    "token_credential",
)
