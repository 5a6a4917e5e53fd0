"""One-time passwords. Spec: RFC 4226 §5, RFC 6238 §4. Keycloak: otpPolicy*."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class OtpType(StrEnum):
    """What moves the code on."""

    TOTP = "totp"
    """Time."""
    HOTP = "hotp"
    """A counter."""


class OtpAlgorithm(StrEnum):
    """The hash inside the HMAC, in Keycloak's spelling."""

    HMAC_SHA1 = "HmacSHA1"
    HMAC_SHA256 = "HmacSHA256"
    HMAC_SHA512 = "HmacSHA512"


@dataclass(frozen=True, slots=True)
class OtpPolicy:
    """How codes are made and how far off they may be.

    Algorithm, digits and period are copied into a credential at enrolment; the window and the
    reuse rule are the realm's at verification.
    """

    type: OtpType = OtpType.TOTP
    """`otpPolicyType`."""
    algorithm: OtpAlgorithm = OtpAlgorithm.HMAC_SHA1
    """`otpPolicyAlgorithm`."""
    initial_counter: int = 0
    """`otpPolicyInitialCounter`: where a counter-based credential starts."""
    digits: int = 6
    """`otpPolicyDigits`: length of a code, 6 or 8."""
    look_ahead_window: int = 1
    """`otpPolicyLookAheadWindow`: steps a code may be off, both ways for a time-based one."""
    period: timedelta = timedelta(seconds=30)
    """`otpPolicyPeriod`: how long a time-based code lasts; seconds."""
    code_reusable: bool = False
    """`otpPolicyCodeReusable`: a code may be used twice within its window."""
