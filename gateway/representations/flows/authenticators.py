"""The authenticators that flows may consist of: names, requirements, and what may be set of each.

Names are Keycloak's, for clients find an execution by them. Keycloak keeps any other property as
well. Keycloak: 15, authenticator-providers, client-authenticator-providers, form-action-providers
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.flows import ACTING, FORM_ACTIONS, FlowKind, Requirement
from gateway.representations.components import Property, SettingKind


def _text(name: str, label: str, text: str, standard: str | None = None) -> Property:
    return Property(name, label, text, standard=standard)


def _flag(name: str, label: str, text: str, standard: str | None = None) -> Property:
    return Property(name, label, text, SettingKind.FLAG, standard)


def _choice(name: str, label: str, text: str, *options: str) -> Property:
    """Return a choice of which the first option holds where none is made."""
    return Property(name, label, text, SettingKind.CHOICE, options[0], options)


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
        SettingKind.TEXTS,
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
        SettingKind.TEXTS,
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
        SettingKind.AREA,
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
        Property(
            "skipOtpRole", "Skip OTP for Role", "Users with it are not asked", SettingKind.ROLE
        ),
        Property("forceOtpRole", "Force OTP for Role", "Users with it are asked", SettingKind.ROLE),
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
            SettingKind.CHOICE,
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
            "credentials",
            "Credentials",
            "Types of credentials, separated by ##",
            SettingKind.CHOICES,
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
        Property("condUserRole", "User role", "The role, or client.role", SettingKind.ROLE),
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
            SettingKind.CHOICE,
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
            SettingKind.CHOICE,
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


_REQUIRED, _ALTERNATIVE = Requirement.REQUIRED, Requirement.ALTERNATIVE
_DISABLED, _CONDITIONAL = Requirement.DISABLED, Requirement.CONDITIONAL
_EITHER: Final = (_REQUIRED, _DISABLED)
_USUAL: Final = (_REQUIRED, _ALTERNATIVE, _DISABLED)
SUB_FLOW_CHOICES: Final[Mapping[FlowKind, tuple[Requirement, ...]]] = {
    FlowKind.BASIC: (*_USUAL, _CONDITIONAL),
    FlowKind.CLIENT: _USUAL,
    FlowKind.FORM: _EITHER,
}


UNAVAILABLE: Final = (
    "cannot act yet: a sign-in passes it over, and fails where it is required; a flow of the"
    " password grant with it is refused"
)
"""What becomes of an authenticator of users that does not act."""


class AuthenticatorRole(StrEnum):
    """In which kind of flow an authenticator has its place."""

    USER = "user"
    CLIENT = "client"
    FORM = "form"
    FORM_ACTION = "form action"


@dataclass(frozen=True, slots=True)
class AuthenticatorDescription:
    """An authenticator; `help` says in a sentence what it does."""

    id: str
    name: str
    help: str
    choices: tuple[Requirement, ...]
    properties: tuple[Property, ...]
    role: AuthenticatorRole

    @property
    def acts(self) -> bool:
        """Tell whether it acts in a sign-in of this version."""
        return self.id in ACTING or self.id in FORM_ACTIONS

    def listed(self) -> dict[str, Any]:
        members = {"displayName": self.name, "description": self.help, "id": self.id}
        if self.role is AuthenticatorRole.CLIENT:
            return {"supportsSecret": self.id in WITH_SECRET, **members}
        return members

    def described(self) -> dict[str, Any]:
        """Return what there is to be set. Keycloak: AuthenticatorConfigInfoRepresentation."""
        return {
            "name": self.name,
            "providerId": self.id,
            "helpText": self.help,
            "properties": [each.document() for each in self.properties],
        }


_CHOICES: Final[Mapping[str, tuple[Requirement, ...]]] = {
    "usual": _USUAL,
    "either": _EITHER,
    "always": (_REQUIRED,),
    "any": (_REQUIRED, _ALTERNATIVE, _CONDITIONAL, _DISABLED),
}


_TABLE: Final = """
auth-cookie | user | usual | Cookie | Signs in a user who has a session in this browser
auth-spnego | user | usual | Kerberos | Signs in by a Kerberos ticket
identity-provider-redirector | user | usual | Identity Provider Redirector | Sends the user to \
another identity provider
organization | user | usual | Organization Identity-First Login | Sends members of an \
organization to its identity provider
auth-username-password-form | user | always | Username Password Form | Asks for user name and \
password on one page
auth-otp-form | user | usual | OTP Form | Asks for a one-time password on a page
webauthn-authenticator | user | usual | WebAuthn Authenticator | Asks for a security key as \
second factor
auth-recovery-authn-code-form | user | usual | Recovery Authentication Code Form | Asks for a \
recovery code on a page
conditional-user-configured | user | either | Condition - user configured | Holds where the user \
has set up the other steps of the flow
conditional-credential | user | either | Condition - credential | Holds for a user who has, or \
has not, signed in with certain credentials
direct-grant-validate-username | user | always | Username Validation | Finds the user by the \
parameter `username` of the password grant
direct-grant-validate-password | user | usual | Password | Checks the parameter `password` of the \
password grant
direct-grant-validate-otp | user | usual | OTP | Checks the parameter `totp` or `otp` of the \
password grant
reset-credentials-choose-user | user | always | Choose User | Asks for the user whose credentials \
are reset
reset-credential-email | user | always | Send Reset Email | Sends a link by e-mail and waits for \
it to be opened
reset-password | user | usual | Reset Password | Asks for a new password
reset-otp | user | usual | Reset OTP | Removes one-time passwords and asks to set up a new one
idp-review-profile | user | usual | Review Profile | Shows the profile that another provider \
sent, to be completed
idp-create-user-if-unique | user | usual | Create User If Unique | Creates a user where none has \
the address that the provider sent
idp-confirm-link | user | usual | Confirm link existing account | Asks before linking an existing \
account
idp-email-verification | user | usual | Verify existing account by Email | Verifies the owner of \
an existing account by e-mail
idp-username-password-form | user | always | Username Password Form for identity provider \
reauthentication | Verifies the owner of an existing account by password
idp-add-organization-member | user | usual | Organization Member Onboard | Adds a user of another \
provider to an organization
docker-http-basic-authenticator | user | always | Docker Authenticator | Checks the HTTP Basic \
credentials of a Docker client
conditional-client-scope | user | either | Condition - client scope | Holds where the client has \
a certain client scope
idp-confirm-override-link | user | either | Confirm override existing link | Asks before \
replacing the link of an account
direct-grant-auth-x509-username | user | always | X509/Validate Username | Finds the user of the \
password grant by the client certificate
auth-password-form | user | usual | Password Form | Asks for the password on a page of its own
allow-access-authenticator | user | either | Allow access | Always succeeds
idp-auto-link | user | usual | Automatically set existing user | Links an existing account \
without asking
auth-x509-client-username-form | user | usual | X509/Validate Username Form | Finds the user by \
the client certificate, and asks for consent
conditional-sub-flow-executed | user | either | Condition - sub-flow executed | Holds where a \
sub-flow has, or has not, succeeded before
conditional-user-role | user | either | Condition - user role | Holds for users with a certain role
deny-access-authenticator | user | either | Deny access | Always refuses
webauthn-authenticator-passwordless | user | usual | WebAuthn Passwordless Authenticator | Asks \
for a passkey instead of a password
auth-conditional-otp-form | user | usual | Conditional OTP Form | Asks for a one-time password \
where its conditions require one
user-session-limits | user | either | User session count limiter | Limits the sessions of one \
user, in the realm and with a client
conditional-user-attribute | user | either | Condition - user attribute | Holds for users with a \
certain value of an attribute
auth-username-form | user | always | Username Form | Asks for the user name on a page of its own
idp-detect-existing-broker-user | user | either | Detect existing broker user | Finds the user \
whose address the provider sent, and fails without one
http-basic-authenticator | user | any | HTTP Basic Authentication | Checks the user name and \
password of an Authorization header
conditional-level-of-authentication | user | either | Condition - Level of Authentication | Holds \
where a level of authentication is requested that is not reached yet
registration-page-form | form | either | Registration Page | Shows the registration page
registration-user-creation | form action | either | Registration User Profile Creation | Checks \
the profile and creates the user; must come first
registration-password-action | form action | either | Password Validation | Checks and stores the \
password of a new user
registration-recaptcha-action | form action | either | reCAPTCHA | Checks by Google reCAPTCHA \
that a person registers
registration-terms-and-conditions | form action | either | Terms and conditions | Asks to accept \
the terms before registering
registration-recaptcha-enterprise | form action | either | reCAPTCHA Enterprise | Checks by \
Google reCAPTCHA Enterprise that a person registers
"""
"""An authenticator: id, role, the choices of its requirement, name, and what it does.

Those of clients are CLIENT_AUTHENTICATORS.
"""


def _authenticators() -> Iterator[AuthenticatorDescription]:
    for line in _TABLE.strip().split("\n"):
        name, role, choices, label, text = line.split(" | ")
        properties = PROPERTIES.get(name, ())
        yield AuthenticatorDescription(
            name, label, text, _CHOICES[choices], properties, AuthenticatorRole(role)
        )
    for each in CLIENT_AUTHENTICATORS:
        properties = PROPERTIES.get(each.id, ())
        yield AuthenticatorDescription(
            each.id, each.name, each.help, _USUAL, properties, AuthenticatorRole.CLIENT
        )


AUTHENTICATORS: Final = {each.id: each for each in _authenticators()}
"""All of them, by id."""
ROLES: Final[Mapping[FlowKind, AuthenticatorRole]] = {
    FlowKind.BASIC: AuthenticatorRole.USER,
    FlowKind.CLIENT: AuthenticatorRole.CLIENT,
    FlowKind.FORM: AuthenticatorRole.FORM_ACTION,
}
"""Which authenticators have their place in a flow."""


def of_role(role: AuthenticatorRole) -> tuple[AuthenticatorDescription, ...]:
    """Return the authenticators of a role."""
    return tuple(each for each in AUTHENTICATORS.values() if each.role is role)
