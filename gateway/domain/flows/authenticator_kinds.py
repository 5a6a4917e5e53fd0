"""The authenticators and conditions that act in this version: one table of all that is known.

`gateway/authentication` has a file for each. An authenticator that is not in the table never
succeeds: a flow passes it over, and fails where it is required.
Keycloak: 15, 16 (26.7)
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.domain.flows.certificate_identity import PATTERN, certificate_problem
from gateway.domain.limits.patterns import pattern_problem

COOKIE: Final = "auth-cookie"
USERNAME_PASSWORD_FORM: Final = "auth-username-password-form"  # noqa: S105 - an authenticator
USERNAME_FORM: Final = "auth-username-form"
PASSWORD_FORM: Final = "auth-password-form"  # noqa: S105 - the name of an authenticator
CODE_FORM: Final = "auth-otp-form"
RECOVERY_CODE_FORM: Final = "auth-recovery-authn-code-form"
SECURITY_KEY_FORM: Final = "webauthn-authenticator"
PASSKEY_FORM: Final = "webauthn-authenticator-passwordless"
USERNAME: Final = "direct-grant-validate-username"
PASSWORD: Final = "direct-grant-validate-password"  # noqa: S105 - the name of an authenticator
CODE: Final = "direct-grant-validate-otp"
CERTIFICATE: Final = "direct-grant-auth-x509-username"
CERTIFICATE_FORM: Final = "auth-x509-client-username-form"
ALLOW: Final = "allow-access-authenticator"
DENY: Final = "deny-access-authenticator"
SESSION_LIMITS: Final = "user-session-limits"
REGISTRATION_FORM: Final = "registration-page-form"
USER_CONFIGURED: Final = "conditional-user-configured"
USER_ROLE: Final = "conditional-user-role"
USER_ATTRIBUTE: Final = "conditional-user-attribute"
CLIENT_SCOPE: Final = "conditional-client-scope"
SUB_FLOW_EXECUTED: Final = "conditional-sub-flow-executed"
CREDENTIAL_USED: Final = "conditional-credential"
LEVEL: Final = "conditional-level-of-authentication"
USER_CREATION: Final = "registration-user-creation"
REGISTRATION_PASSWORD: Final = "registration-password-action"  # noqa: S105 - a form action
REGISTRATION_TERMS: Final = "registration-terms-and-conditions"
RESET_CHOOSE_USER: Final = "reset-credentials-choose-user"
RESET_EMAIL: Final = "reset-credential-email"
RESET_PASSWORD: Final = "reset-password"  # noqa: S105 - the name of an authenticator
RESET_OTP: Final = "reset-otp"
FORM_ACTIONS: Final = frozenset({USER_CREATION, REGISTRATION_PASSWORD, REGISTRATION_TERMS})
"""The actions of forms that act: parts of the page of registration."""
_EXPECTED: Final = "attribute_expected_value"
PATTERNS: Final = frozenset({PATTERN, _EXPECTED})
"""Settings of authenticators that are, or may be, patterns."""
_WHOLE_NUMBER: Final = re.compile("-?[0-9]{1,9}", re.ASCII)
Config = Mapping[str, str]


class Place(StrEnum):
    """Where an authenticator may stand in a flow of the password grant."""

    FIRST = "first"
    """It identifies the user, before everything else."""
    LATER = "later"
    CONDITION = "condition"
    """It decides whether its sub-flow is run."""
    NOWHERE = "nowhere"
    """It needs a browser."""


def _no_problem(config: Config) -> None:
    del config


@dataclass(frozen=True, slots=True)
class AuthenticatorKind:
    """An authenticator that acts; `id` is Keycloak's.

    `credential` is the type of the stored credential that it checks. `required_action` sets that
    credential up for a user without one. `names_user` says that its form may be the first: it asks
    who the user is. `accepts_passkeys` says that its form accepts passkeys too, where the realm has
    them enabled. `problem` says why it cannot act with a configuration.
    """

    id: str
    direct_grant: Place
    credential: str | None = None
    required_action: str | None = None
    names_user: bool = False
    accepts_passkeys: bool = False
    problem: Callable[[Config], str | None] = _no_problem


def _attribute_problem(config: Config) -> str | None:
    if not config:
        return "it is not configured"
    if config.get("regex", "").lower() != "true":
        return None
    return pattern_problem(config.get(_EXPECTED, ""))


def _limits_problem(config: Config) -> str | None:
    limits = (config.get(name, "0") for name in ("userRealmLimit", "userClientLimit"))
    if not config or not all(_WHOLE_NUMBER.fullmatch(limit) for limit in limits):
        return "its limits are not whole numbers"
    return None


AUTHENTICATOR_KINDS: Final = (
    AuthenticatorKind(COOKIE, Place.NOWHERE),
    AuthenticatorKind(
        USERNAME_PASSWORD_FORM, Place.NOWHERE, "password", names_user=True, accepts_passkeys=True
    ),
    AuthenticatorKind(USERNAME_FORM, Place.NOWHERE, accepts_passkeys=True),
    AuthenticatorKind(PASSWORD_FORM, Place.NOWHERE, "password", accepts_passkeys=True),
    AuthenticatorKind(CODE_FORM, Place.NOWHERE, "otp", "CONFIGURE_TOTP"),
    AuthenticatorKind(
        RECOVERY_CODE_FORM,
        Place.NOWHERE,
        "recovery-authn-codes",
        "CONFIGURE_RECOVERY_AUTHN_CODES",
    ),
    AuthenticatorKind(SECURITY_KEY_FORM, Place.NOWHERE, "webauthn", "webauthn-register"),
    AuthenticatorKind(
        PASSKEY_FORM,
        Place.NOWHERE,
        "webauthn-passwordless",
        "webauthn-register-passwordless",
        names_user=True,
    ),
    AuthenticatorKind(USERNAME, Place.FIRST),
    AuthenticatorKind(PASSWORD, Place.FIRST, "password"),
    AuthenticatorKind(CERTIFICATE, Place.FIRST, problem=certificate_problem),
    AuthenticatorKind(CERTIFICATE_FORM, Place.NOWHERE, problem=certificate_problem),
    AuthenticatorKind(CODE, Place.LATER, "otp"),
    AuthenticatorKind(ALLOW, Place.LATER),
    AuthenticatorKind(REGISTRATION_FORM, Place.NOWHERE),
    AuthenticatorKind(RESET_CHOOSE_USER, Place.NOWHERE),
    AuthenticatorKind(RESET_EMAIL, Place.NOWHERE),
    AuthenticatorKind(RESET_PASSWORD, Place.NOWHERE),
    AuthenticatorKind(RESET_OTP, Place.NOWHERE, required_action="CONFIGURE_TOTP"),
    AuthenticatorKind(DENY, Place.LATER),
    AuthenticatorKind(SESSION_LIMITS, Place.LATER, problem=_limits_problem),
    AuthenticatorKind(USER_CONFIGURED, Place.CONDITION),
    AuthenticatorKind(USER_ROLE, Place.CONDITION),
    AuthenticatorKind(USER_ATTRIBUTE, Place.CONDITION, problem=_attribute_problem),
    AuthenticatorKind(CLIENT_SCOPE, Place.CONDITION),
    AuthenticatorKind(SUB_FLOW_EXECUTED, Place.CONDITION),
    AuthenticatorKind(CREDENTIAL_USED, Place.CONDITION),
    AuthenticatorKind(LEVEL, Place.NOWHERE),
)
KIND_OF: Final[Mapping[str, AuthenticatorKind]] = {kind.id: kind for kind in AUTHENTICATOR_KINDS}
CREDENTIAL_OF_ACTION: Final[Mapping[str, str]] = {
    "UPDATE_PASSWORD": "password",
    **{
        kind.required_action: kind.credential
        for kind in AUTHENTICATOR_KINDS
        if kind.required_action is not None and kind.credential is not None
    },
}
"""Required action -> the type of the credential that it sets up."""
ACTING: Final = frozenset(KIND_OF)
"""The authenticators and conditions that act."""
UNAVAILABLE_CREDENTIALS: Final[Mapping[str, str]] = {
    "auth-conditional-otp-form": "otp",
}
"""Types of credentials of authenticators that do not act: a user with one has set them up."""
NEVER_SET_UP: Final = frozenset({"organization"})
"""Authenticators of features that are off: no user has set them up."""
