"""What a sign-in asks for, and the guard against guessing. Spec: RFC 4226 §5, RFC 6238 §4.

Keycloak: login settings, flow bindings, otpPolicy*, brute force detection; creation defaults
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """Switches of the sign-in pages and of user names."""

    registration_allowed: bool = False
    """`registrationAllowed`: users may register themselves."""
    registration_email_as_username: bool = False
    """`registrationEmailAsUsername`: the e-mail address is the user name."""
    remember_me: bool = False
    """`rememberMe`: the sign-in page offers a session that outlives the browser."""
    verify_email: bool = False
    """`verifyEmail`: an address must be confirmed before the first sign-in ends."""
    login_with_email_allowed: bool = True
    """`loginWithEmailAllowed`: the e-mail address is accepted in place of the user name."""
    duplicate_emails_allowed: bool = False
    """`duplicateEmailsAllowed`: two users may share an address."""
    reset_password_allowed: bool = False
    """`resetPasswordAllowed`: the sign-in page offers a reset by e-mail."""
    edit_username_allowed: bool = False
    """`editUsernameAllowed`: users may change their user name."""


@dataclass(frozen=True, slots=True)
class FlowBindings:
    """The flows in use."""

    browser: str = "browser"
    """`browserFlow`: signing in on a page."""
    registration: str = "registration"
    """`registrationFlow`: registration of users."""
    direct_grant: str = "direct grant"
    """`directGrantFlow`: signing in by password through a client."""
    reset_credentials: str = "reset credentials"
    """`resetCredentialsFlow`: reset of a forgotten password."""
    client_authentication: str = "clients"
    """`clientAuthenticationFlow`: client authentication."""
    docker_authentication: str = "docker auth"
    """`dockerAuthenticationFlow`: signing in of Docker."""
    first_broker_login: str = "first broker login"
    """`firstBrokerLoginFlow`: the first sign-in by another provider."""


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


_USUAL_DIGITS: Final = 6
"""The number that authenticator apps expect by default."""


@dataclass(frozen=True, slots=True)
class OtpPolicy:
    """How codes are made and how far off they may be.

    Algorithm, digits and period are copied into a credential at enrolment; the window and the
    reuse rule are the realm's at verification.
    """

    type: OtpType | None = OtpType.TOTP
    """`otpPolicyType`; None is the empty text, and means time-based codes."""
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

    @property
    def supported_applications(self) -> tuple[str, ...]:
        """`otpSupportedApplications`: apps that can make such codes. Keycloak: 8.1."""
        timed, half_minute = self.type is OtpType.TOTP, self.period == timedelta(seconds=30)
        usual = self.algorithm is OtpAlgorithm.HMAC_SHA1 and self.digits == _USUAL_DIGITS
        supported = {
            "totpAppFreeOTPName": True,
            "totpAppGoogleName": half_minute or not timed,
            "totpAppMicrosoftAuthenticatorName": timed and usual and half_minute,
        }
        return tuple(name for name, is_supported in supported.items() if is_supported)


class BruteForceStrategy(StrEnum):
    """How the wait grows with each lock-out."""

    LINEAR = "LINEAR"
    """By one `wait_increment` per failure above the factor."""
    MULTIPLE = "MULTIPLE"
    """By one `wait_increment` per full multiple of the factor."""


@dataclass(frozen=True, slots=True)
class BruteForce:
    """The guard against guessing passwords; every field counts per user."""

    protected: bool = False
    """`bruteForceProtected`: whether the guard works at all."""
    permanent_lockout: bool = False
    """`permanentLockout`: lock for good instead of for a while."""
    max_temporary_lockouts: int = 0
    """`maxTemporaryLockouts`: how many temporary lock-outs come before a permanent one."""
    strategy: BruteForceStrategy = BruteForceStrategy.MULTIPLE
    """`bruteForceStrategy`: how the wait grows."""
    max_failure_wait: timedelta = timedelta(minutes=15)
    """`maxFailureWaitSeconds`: the longest lock-out; seconds."""
    minimum_quick_login_wait: timedelta = timedelta(minutes=1)
    """`minimumQuickLoginWaitSeconds`: the lock-out after two quick failures; seconds."""
    wait_increment: timedelta = timedelta(minutes=1)
    """`waitIncrementSeconds`: what each lock-out adds; seconds."""
    quick_login_check: timedelta = timedelta(seconds=1)
    """`quickLoginCheckMilliSeconds`: failures closer together are quick; milliseconds."""
    max_delta_time: timedelta = timedelta(hours=12)
    """`maxDeltaTimeSeconds`: failures further apart start a new count; seconds."""
    failure_factor: int = 30
    """`failureFactor`: failures that trigger a lock-out."""
    max_secondary_failures: int = 0
    """`maxSecondaryAuthFailures`: failures of a second factor that lock; 0 counts none apart."""
    failures_per_address: int = 0
    """The realm attribute `realmgate.bruteForce.failuresPerAddress`: failures of one address that
    lock this address out for the user; 0 counts no addresses."""
