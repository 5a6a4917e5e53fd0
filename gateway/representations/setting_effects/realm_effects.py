"""Settings of a realm that are kept and given back, and have no effect yet, by what they wait for.

What acts is not listed. A test compares this list with what the rules read, and the documentation
with this list. Keycloak: RealmRepresentation
"""

from collections.abc import Mapping
from typing import Final

_PAGES: Final = "pages"
_CODES: Final = "the authorization endpoint"
_MAIL: Final = "mail"
_DEVICES: Final = "the device grant"
_KEYS_OF_DEVICES: Final = "WebAuthn"

_WEB_AUTHN: Final = tuple(
    f"webAuthnPolicy{kind}{name}"
    for kind in ("", "Passwordless")
    for name in (
        "RpEntityName",
        "SignatureAlgorithms",
        "RpId",
        "AttestationConveyancePreference",
        "AuthenticatorAttachment",
        "RequireResidentKey",
        "ResidentKey",
        "UserVerificationRequirement",
        "CreateTimeout",
        "AvoidSameAuthenticatorRegister",
        "AcceptableAaguids",
        "ExtraOrigins",
    )
)

WAITING: Final[Mapping[str, tuple[str, ...]]] = {
    _PAGES: (
        "displayName",
        "displayNameHtml",
        "registrationAllowed",
        "rememberMe",
        "resetPasswordAllowed",
        "otpSupportedApplications",
        "loginTheme",
        "accountTheme",
        "adminTheme",
        "emailTheme",
        "supportedLocales",
        "browserFlow",
        "registrationFlow",
        "resetCredentialsFlow",
    ),
    _CODES: (
        "accessTokenLifespanForImplicitFlow",
        "accessCodeLifespan",
        "accessCodeLifespanUserAction",
        "accessCodeLifespanLogin",
    ),
    _MAIL: (
        "smtpServer",
        "actionTokenGeneratedByAdminLifespan",
        "actionTokenGeneratedByUserLifespan",
    ),
    _DEVICES: ("oauth2DeviceCodeLifespan", "oauth2DevicePollingInterval"),
    _KEYS_OF_DEVICES: (
        *_WEB_AUTHN,
        "webAuthnPolicyPasswordlessPasskeysEnabled",
        "webAuthnPolicyPasswordlessMediation",
    ),
    "enrollment of one-time passwords": (
        "otpPolicyType",
        "otpPolicyAlgorithm",
        "otpPolicyDigits",
        "otpPolicyPeriod",
        "otpPolicyInitialCounter",
    ),
    "client policies other than the executor `secret-rotation`": (
        "clientProfiles",
        "clientPolicies",
    ),
    "nothing: it is not part of this product": (
        "requiredCredentials",
        "dockerAuthenticationFlow",
        "firstBrokerLoginFlow",
        "userManagedAccessAllowed",
        "organizationsEnabled",
        "verifiableCredentialsEnabled",
        "adminPermissionsEnabled",
        "scimApiEnabled",
    ),
}
"""What the settings wait for, and their names."""

WITHOUT_EFFECT: Final = frozenset(name for names in WAITING.values() for name in names)
