"""Tokens that only their sender can use: bound to a certificate, to a DPoP key, or to both."""

from gateway.protocol.sender_constraint.certificate_binding import (
    bound_certificate,
    issued_serial_claim,
    presents,
)
from gateway.protocol.sender_constraint.constraint import (
    KEY,
    SenderConstraint,
    binding_of,
    confirmation_claim,
    is_bound_to_key,
    refresh_confirmation,
    require_key_of_code,
)
from gateway.protocol.sender_constraint.credential import TokenCredential, token_credential
from gateway.protocol.sender_constraint.nonces import current_nonce
from gateway.protocol.sender_constraint.proof_checks import ProofChecks

__all__ = (
    "KEY",
    "ProofChecks",
    "SenderConstraint",
    "TokenCredential",
    "binding_of",
    "bound_certificate",
    "confirmation_claim",
    "current_nonce",
    "is_bound_to_key",
    "issued_serial_claim",
    "presents",
    "refresh_confirmation",
    "require_key_of_code",
    "token_credential",
)
