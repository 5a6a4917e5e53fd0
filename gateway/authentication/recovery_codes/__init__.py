"""Recovery codes: how a credential stores them, and the check that uses them up."""

from gateway.authentication.recovery_codes.check import RecoveryCodeCheck, codes_threshold
from gateway.authentication.recovery_codes.credentials import (
    RECOVERY_CODES,
    RecoveryCodes,
    new_codes,
    new_credential,
)

__all__ = [
    "RECOVERY_CODES",
    "RecoveryCodeCheck",
    "RecoveryCodes",
    "codes_threshold",
    "new_codes",
    "new_credential",
]
