"""What may be set of an authenticator, by its id.

Keycloak keeps any other property as well. Keycloak: 15
"""

from collections.abc import Mapping
from typing import Final

from gateway.representations.provider_properties import Kind, Property


def _text(name: str, label: str, text: str, standard: str | None = None) -> Property:
    return Property(name, label, text, standard=standard)


def _flag(name: str, label: str, text: str, standard: str | None = None) -> Property:
    return Property(name, label, text, Kind.FLAG, standard)


def _choice(name: str, label: str, text: str, *options: str) -> Property:
    """Return a choice of which the first option holds where none is made."""
    return Property(name, label, text, Kind.CHOICE, options[0], options)


_NEGATE: Final = "Whether the result is inverted"
_X509: Final = "x509-cert-auth"
_CERTIFICATE: Final = (
    _choice(
        f"{_X509}.mapping-source-selection",
        "User Identity Source",
        "What of the certificate names the user",
        "Match SubjectDN using regular expression",
        "Subject's e-mail",
        "Subject's Alternative Name E-mail",
        "Subject's Alternative Name otherName (UPN)",
        "Subject's Common Name",
        "Match IssuerDN using regular expression",
        "Certificate Serial Number",
        "Certificate Serial Number and IssuerDN",
        "SHA-256 Thumbprint",
        "Full Certificate in PEM format",
    ),
    _flag(
        f"{_X509}.canonical-dn-enabled",
        "Canonical DN representation enabled",
        "Whether names are in Java's canonical form",
        "false",
    ),
    _flag(
        f"{_X509}.serialnumber-hex-enabled",
        "Enable Serial Number hexadecimal representation",
        "Whether the serial number is hexadecimal",
        "false",
    ),
    _text(
        f"{_X509}.regular-expression",
        "A regular expression to extract user identity",
        "The first group of its first match names the user",
        "(.*?)(?:$)",
    ),
    _choice(
        f"{_X509}.mapper-selection",
        "User mapping method",
        "How the user of that name is found",
        "Custom Attribute Mapper",
        "Username or Email",
    ),
    Property(
        f"{_X509}.mapper-selection.user-attribute-name",
        "A name of user attribute",
        "The attribute of users that has the name",
        Kind.TEXTS,
        "usercertificate",
    ),
    _flag(
        f"{_X509}.timestamp-validation-enabled",
        "Check certificate validity",
        "Whether the certificate must be valid now",
        "true",
    ),
    _flag(f"{_X509}.crl-checking-enabled", "CRL Checking Enabled", "Whether to ask a CRL"),
    _flag(
        f"{_X509}.crldp-checking-enabled",
        "Enable CRL Distribution Point to check certificate revocation status",
        "Whether to ask the CRL that the certificate names",
        "false",
    ),
    Property(
        f"{_X509}.crl-relative-path",
        "CRL Path",
        "Where the CRL is",
        Kind.TEXTS,
        "crl.pem",
    ),
    _flag(
        f"{_X509}-crl-abort-if-non-updated",
        "CRL abort if non updated",
        "Whether a CRL that is out of date refuses every certificate",
        "true",
    ),
    _flag(f"{_X509}.ocsp-checking-enabled", "OCSP Checking Enabled", "Whether to ask by OCSP"),
    _flag(
        f"{_X509}.ocsp-fail-open",
        "OCSP Fail-Open Behavior",
        "Whether a certificate is accepted where OCSP gives no answer",
        "false",
    ),
    _text(f"{_X509}.ocsp-responder-uri", "OCSP Responder Uri", "Where to ask by OCSP"),
    Property(
        f"{_X509}.ocsp-responder-certificate",
        "OCSP Responder Certificate",
        "The certificate that signs the answers, as PEM",
        Kind.AREA,
    ),
    _text(f"{_X509}.keyusage", "Validate Key Usage", "Key usages that must be set"),
    _text(
        f"{_X509}.extendedkeyusage",
        "Validate Extended Key Usage",
        "Extended key usages that must be set",
    ),
    _flag(
        f"{_X509}.confirmation-page-disallowed",
        "Bypass identity confirmation",
        "Whether the page on which the user confirms is left out",
    ),
    _flag(
        f"{_X509}.revalidate-certificate-enabled",
        "Revalidate Client Certificate",
        "Whether the path of the certificate is checked again",
    ),
    _text(
        f"{_X509}.certificate-policy",
        "Validate Certificate Policy",
        "Certificate policies that the certificate must have",
    ),
    _choice(
        f"{_X509}.certificate-policy-mode",
        "Certificate Policy Validation Mode",
        "Whether it must have all of them or any",
        "All",
        "Any",
    ),
)
_RECAPTCHA: Final = (
    _text("action", "Action Name", "The name of the context", "register"),
    _flag("useRecaptchaNet", "Use recaptcha.net", "Whether to use recaptcha.net", "false"),
    _flag("recaptcha.v3", "reCAPTCHA v3", "Whether the key is of version 3", "false"),
)
_SITE_KEY: Final = _text("site.key", "reCAPTCHA Site Key", "The key of the site")

PROPERTIES: Final[Mapping[str, tuple[Property, ...]]] = {
    "auth-conditional-otp-form": (
        _text(
            "otpControlAttribute",
            "OTP control User Attribute",
            "The attribute of users that says force or skip",
        ),
        Property("skipOtpRole", "Skip OTP for Role", "Users with it are not asked", Kind.ROLE),
        Property("forceOtpRole", "Force OTP for Role", "Users with it are asked", Kind.ROLE),
        _text(
            "noOtpRequiredForHeaderPattern",
            "Skip OTP for Header",
            "Requests with such a header are not asked",
            "",
        ),
        _text(
            "forceOtpForHeaderPattern",
            "Force OTP for Header",
            "Requests with such a header are asked",
            "",
        ),
        Property(
            "defaultOtpOutcome",
            "Fallback OTP handling",
            "What to do where nothing else decides",
            Kind.CHOICE,
            options=("skip", "force"),
        ),
    ),
    "auth-x509-client-username-form": _CERTIFICATE,
    "conditional-client-scope": (
        _text("client_scope", "Client scope name", "The scope that must be requested"),
        _flag("negate", "Negate output", _NEGATE),
    ),
    "conditional-credential": (
        Property(
            "credentials", "Credentials", "Types of credentials, separated by ##", Kind.CHOICES
        ),
        _flag("included", "Included", "Whether they must, or must not, have been used"),
    ),
    "conditional-level-of-authentication": (
        _text("loa-condition-level", "loa-condition-level", "The level of authentication"),
        _text("loa-max-age", "loa-max-age", "For how many seconds it lasts", "36000"),
    ),
    "conditional-sub-flow-executed": (
        _text("flow_to_check", "Flow name", "The alias of the sub-flow"),
        _choice(
            "check_result",
            "Check result",
            "Whether it must have succeeded, or not",
            "executed",
            "not-executed",
        ),
    ),
    "conditional-user-attribute": (
        _text("attribute_name", "Attribute name", "The attribute of the user"),
        _text("attribute_expected_value", "Expected attribute value", "The value it must have"),
        _flag("include_group_attributes", "Include group attributes", "Whether groups count"),
        _flag("not", "Negate output", _NEGATE),
        _flag("regex", "regex", "Whether the value is a regular expression"),
    ),
    "conditional-user-role": (
        Property("condUserRole", "User role", "The role, or client.role", Kind.ROLE),
        _flag("negate", "Negate output", _NEGATE),
    ),
    "deny-access-authenticator": (
        _text("denyErrorMessage", "Error message", "The text that the user reads"),
    ),
    "direct-grant-auth-x509-username": _CERTIFICATE,
    "identity-provider-redirector": (
        _text(
            "defaultProvider",
            "Default Identity Provider",
            "The alias of the provider to which users are sent",
        ),
    ),
    "idp-create-user-if-unique": (
        _flag(
            "require.password.update.after.registration",
            "Require Password Update After Registration",
            "Whether a password must be set",
        ),
    ),
    "idp-review-profile": (
        Property(
            "update.profile.on.first.login",
            "Update Profile on First Login",
            "When to show",
            Kind.CHOICE,
            "missing",
            ("on", "missing", "off"),
        ),
    ),
    "organization": (
        _flag("requiresUserMembership", "Requires user membership", "Whether members alone"),
    ),
    "registration-password-action": (
        _flag(
            "always_set_password_on_register_form",
            "Always set password on register form",
            "Whether the password is set before the address is confirmed",
        ),
    ),
    "registration-recaptcha-action": (
        _SITE_KEY,
        Property("secret.key", "reCAPTCHA Secret", "The secret of the site", secret=True),
        *_RECAPTCHA,
    ),
    "registration-recaptcha-enterprise": (
        _text("project.id", "Project ID", "The project of the key"),
        _SITE_KEY,
        Property("api.key", "Google API Key", "The key of the API", secret=True),
        _text("score.threshold", "Min. Score Threshold", "From 0.0 to 1.0", "0.7"),
        *_RECAPTCHA,
    ),
    "reset-credential-email": (
        Property(
            "force-login",
            "Force login after reset",
            "Whether to sign in again after it",
            Kind.CHOICE,
            "only-federated",
            ("true", "false", "only-federated"),
        ),
    ),
    "reset-otp": (
        _choice(
            "action_on_otp_reset_flag",
            "Action on OTP reset.",
            "What becomes of the old ones",
            "Remove none",
            "Remove one",
            "Remove all",
        ),
    ),
    "user-session-limits": (
        _text(
            "userRealmLimit",
            "Maximum concurrent sessions for each user within this realm.",
            "0 or less is no limit",
            "3",
        ),
        _text(
            "userClientLimit",
            "Maximum concurrent sessions for each user per keycloak client.",
            "0 or less is no limit",
            "0",
        ),
        _choice(
            "behavior",
            "Behavior when user session limit is exceeded",
            "Whether the new session is refused or the oldest one ends",
            "Deny new session",
            "Terminate oldest session",
        ),
        _text("errorMessage", "Optional custom error message", "The text that the user reads"),
    ),
}
SECRETS: Final = frozenset(
    each.name for properties in PROPERTIES.values() for each in properties if each.secret
)
"""Secrets of services that this version does not use: they are not stored."""
