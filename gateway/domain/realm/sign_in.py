"""What a sign-in asks for: login settings, passwords, one-time passwords, security keys, lock-outs.

Rules of `passwordPolicy` are kept as given and in the given order. Lock-outs of one address for one
user are an own attribute of a realm; docs/lock-outs.md describes the rules.
Keycloak: login settings, flow bindings, otpPolicy*, passwordPolicy, WebAuthnPolicy (26.7), brute
force detection; creation defaults. Spec: RFC 4226 §5, RFC 6238 §4, WebAuthn Level 3 §5.4; attacks:
D5
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Final

_DAYS_WITHOUT_ARGUMENT = 365
_HISTORY_WITHOUT_ARGUMENT = 3
_AGE_WITHOUT_ARGUMENT = 30
_SECONDS_WITHOUT_ARGUMENT = 300
_CODES_WITHOUT_ARGUMENT = 4


@dataclass(frozen=True, slots=True)
class PasswordRule:
    """One rule; `argument` is the text between the brackets, None where there was none."""

    name: str
    argument: str | None = None


@dataclass(frozen=True)
class PasswordPolicy:
    """The rules of one realm; none means that any password is accepted.

    Sign-ins read what is computed of the rules: it is computed once.
    """

    rules: tuple[PasswordRule, ...] = ()

    def argument(self, name: str) -> str | None:
        """Return the argument of the rule called `name`, None without rule or argument."""
        return next((rule.argument for rule in self.rules if rule.name == name), None)

    @cached_property
    def hash_algorithm(self) -> str | None:
        """The algorithm that `hashAlgorithm` names, in the realm's own spelling."""
        return self.argument("hashAlgorithm")

    @cached_property
    def hash_iterations(self) -> int | None:
        """The number that `hashIterations` gives."""
        argument = self.argument("hashIterations")
        return int(argument) if argument else None

    @cached_property
    def maximum_age(self) -> timedelta | None:
        """How old a password may grow, by `forceExpiredPasswordChange`; None is for ever."""
        if all(rule.name != "forceExpiredPasswordChange" for rule in self.rules):
            return None
        days = int(self.argument("forceExpiredPasswordChange") or _DAYS_WITHOUT_ARGUMENT)
        return None if days < 0 else timedelta(days=min(days, timedelta.max.days))

    @property
    def maximum_authentication_age(self) -> timedelta | None:
        """`maxAuthAge`: longest time since the sign-in for a new password; None is for ever."""
        seconds = int(self.argument("maxAuthAge") or _SECONDS_WITHOUT_ARGUMENT)
        return timedelta(seconds=seconds) if seconds >= 0 else None

    @property
    def recovery_codes_threshold(self) -> int:
        """How many recovery codes are too few: `recoveryCodesWarningThreshold`, 4 without it."""
        return int(self.argument("recoveryCodesWarningThreshold") or _CODES_WITHOUT_ARGUMENT)

    def expires_at(self, set_at: datetime) -> datetime | None:
        """Return the last instant at which a password set at `set_at` is valid; None: always."""
        age = self.maximum_age
        # A policy may ask for more days than there are instants for.
        if age is None or age > datetime.max.replace(tzinfo=UTC) - set_at:
            return None
        return set_at + age

    @property
    def remembered(self) -> int:
        """How many former passwords are kept beside the current one, by `passwordHistory`."""
        return max(0, self._number("passwordHistory", _HISTORY_WITHOUT_ARGUMENT) - 1)

    @property
    def remembered_for(self) -> timedelta:
        """How long former passwords are kept besides, by `passwordAge`."""
        return timedelta(days=max(0, self._number("passwordAge", _AGE_WITHOUT_ARGUMENT)))

    def _number(self, name: str, without_argument: int) -> int:
        if all(rule.name != name for rule in self.rules):
            return 0
        return int(self.argument(name) or without_argument)


NOT_SPECIFIED: Final = "not specified"
"""Keycloak's word for an option that browsers are not given."""
_REQUIRED: Final = "required"
_NONE: Final = frozenset({None, NOT_SPECIFIED, "none"})


@dataclass(frozen=True, slots=True)
class WebAuthnPolicy:
    """`webAuthnPolicy*`: security keys, a second factor."""

    entity_name: str | None = "keycloak"
    """`RpEntityName`: the name that authenticators show."""
    signature_algorithms: tuple[str, ...] = ("ES256", "RS256")
    """`SignatureAlgorithms`: of new keys, the preferred first."""
    rp_id: str | None = ""
    """`RpId`: the domain that keys are for; empty: the host of the public URL."""
    attestation: str | None = NOT_SPECIFIED
    """`AttestationConveyancePreference`: `none`, `indirect` or `direct`."""
    attachment: str | None = NOT_SPECIFIED
    """`AuthenticatorAttachment`: `platform` or `cross-platform`."""
    require_resident_key: str | None = NOT_SPECIFIED
    """`RequireResidentKey`: `Yes` or `No`; counts where `resident_key` is not set."""
    resident_key: str | None = NOT_SPECIFIED
    """`ResidentKey`: `required`, `preferred` or `discouraged`."""
    user_verification: str | None = NOT_SPECIFIED
    """`UserVerificationRequirement`: `required`, `preferred` or `discouraged`."""
    create_timeout: timedelta = timedelta()
    """`CreateTimeout`: how long browsers wait for the user; seconds, 0 is their own limit."""
    avoid_same_authenticator: bool = False
    """`AvoidSameAuthenticatorRegister`: an authenticator holds one key of a user."""
    acceptable_aaguids: tuple[str, ...] = ()
    """`AcceptableAaguids`: the models of authenticators; none given means all."""
    extra_origins: tuple[str, ...] = ()
    """`ExtraOrigins`: where pages may stand beside the public URL, such as native applications."""

    @property
    def requires_verification(self) -> bool:
        """Whether the authenticator must verify its user, by a PIN or a fingerprint."""
        return self.user_verification == _REQUIRED

    @property
    def requires_attestation(self) -> bool:
        """Whether an authenticator must say, with a signature, what it is."""
        return self.attestation not in _NONE


@dataclass(frozen=True, slots=True)
class PasskeyPolicy(WebAuthnPolicy):
    """`webAuthnPolicyPasswordless*`: passkeys, in place of a password."""

    resident_key: str | None = _REQUIRED
    user_verification: str | None = _REQUIRED
    passkeys_enabled: bool | None = None
    """`PasskeysEnabled`: pages that ask for a name or a password accept passkeys too."""
    mediation: str | None = None
    """`Mediation`: how these pages offer them; `conditional` (none given) is by autofill."""


def option(value: str | None) -> str | None:
    """Return an option as browsers are given it, None where nothing is specified."""
    return None if value in {None, "", NOT_SPECIFIED} else value


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
        """`otpSupportedApplications`: apps that can make such codes. Keycloak: 8.1 realm."""
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
