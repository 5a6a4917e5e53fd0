"""The authenticators that flows may consist of: names, and what may be set of each.

They are those of the flows that a realm is created with. Names are Keycloak's, for clients find an
execution by them.
Keycloak: authenticator-providers, client-authenticator-providers, form-action-providers
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.domain.flows import FlowKind, Requirement
from gateway.representations.provider_properties import Kind, Property

_REQUIRED, _ALTERNATIVE = Requirement.REQUIRED, Requirement.ALTERNATIVE
_DISABLED, _CONDITIONAL = Requirement.DISABLED, Requirement.CONDITIONAL
_USUAL: Final = (_REQUIRED, _ALTERNATIVE, _DISABLED)
_EITHER: Final = (_REQUIRED, _DISABLED)
_ALWAYS: Final = (_REQUIRED,)
SUB_FLOW_CHOICES: Final[Mapping[FlowKind, tuple[Requirement, ...]]] = {
    FlowKind.BASIC: (*_USUAL, _CONDITIONAL),
    FlowKind.CLIENT: (*_USUAL, _CONDITIONAL),
    FlowKind.FORM: _EITHER,
}


class Role(StrEnum):
    """In which kind of flow an authenticator has its place."""

    USER = "user"
    CLIENT = "client"
    FORM = "form"
    FORM_ACTION = "form action"


@dataclass(frozen=True, slots=True)
class Authenticator:
    """An authenticator; `help` says in a sentence what it does."""

    id: str
    name: str
    help: str
    choices: tuple[Requirement, ...] = _USUAL
    properties: tuple[Property, ...] = ()
    role: Role = Role.USER

    def listed(self) -> dict[str, Any]:
        told: dict[str, Any] = {"displayName": self.name, "description": self.help, "id": self.id}
        if self.role is Role.CLIENT:
            return {"supportsSecret": self.id in _WITH_SECRET, **told}
        return told

    def described(self) -> dict[str, Any]:
        """Return what there is to be set. Keycloak: AuthenticatorConfigInfoRepresentation."""
        return {
            "name": self.name,
            "providerId": self.id,
            "helpText": self.help,
            "properties": [each.document() for each in self.properties],
        }


_WITH_SECRET: Final = frozenset({"client-secret", "client-secret-jwt"})


def _flag(name: str, label: str, told: str) -> Property:
    return Property(name, label, told, Kind.FLAG)


def _client(name: str, shown: str, told: str) -> Authenticator:
    return Authenticator(name, shown, told, role=Role.CLIENT)


def _form(name: str, shown: str, told: str, properties: tuple[Property, ...] = ()) -> Authenticator:
    return Authenticator(name, shown, told, _EITHER, properties, Role.FORM_ACTION)


_USERS: Final = (
    Authenticator("auth-cookie", "Cookie", "Lets in who has signed in before"),
    Authenticator("auth-spnego", "Kerberos", "Signs in by Kerberos"),
    Authenticator(
        "identity-provider-redirector",
        "Identity Provider Redirector",
        "Sends the user to another provider",
        properties=(
            Property("defaultProvider", "Default Identity Provider", "The provider's alias"),
        ),
    ),
    Authenticator(
        "organization",
        "Organization Identity-First Login",
        "Sends members of an organisation to their provider",
        properties=(
            _flag("requiresUserMembership", "Requires user membership", "Whether members alone"),
        ),
    ),
    Authenticator(
        "auth-username-password-form",
        "Username Password Form",
        "Asks for user name and password on a page",
        _ALWAYS,
    ),
    Authenticator("auth-otp-form", "OTP Form", "Asks for a one-time password on a page"),
    Authenticator("webauthn-authenticator", "WebAuthn Authenticator", "Asks for a security key"),
    Authenticator(
        "auth-recovery-authn-code-form",
        "Recovery Authentication Code Form",
        "Asks for a recovery code on a page",
    ),
    Authenticator(
        "conditional-user-configured",
        "Condition - user configured",
        "Asks for the rest of the flow only of users who have set it up",
        _EITHER,
    ),
    Authenticator(
        "conditional-credential",
        "Condition - credential",
        "Asks for the rest of the flow by what the user has signed in with",
        _EITHER,
        (
            Property(
                *("credentials", "Credentials", "Types of credentials, separated by ##"),
                Kind.CHOICES,
            ),
            _flag("included", "Included", "Whether they must, or must not, have been used"),
        ),
    ),
    Authenticator(
        "direct-grant-validate-username",
        "Username Validation",
        "Takes the user name of a request for a token",
        _ALWAYS,
    ),
    Authenticator(
        "direct-grant-validate-password", "Password", "Checks the password of such a request"
    ),
    Authenticator(
        "direct-grant-validate-otp", "OTP", "Checks the one-time password of such a request"
    ),
    Authenticator(
        "reset-credentials-choose-user", "Choose User", "Asks who has forgotten", _ALWAYS
    ),
    Authenticator(
        "reset-credential-email",
        "Send Reset Email",
        "Sends a link by mail",
        _ALWAYS,
        (
            Property(
                *("force-login", "Force login after reset", "Whether to sign in anew after it"),
                *(Kind.CHOICE, "only-federated", ("true", "false", "only-federated")),
            ),
        ),
    ),
    Authenticator("reset-password", "Reset Password", "Asks for a new password"),
    Authenticator(
        "reset-otp",
        "Reset OTP",
        "Asks to set up one-time passwords anew",
        properties=(
            Property(
                *(
                    "action_on_otp_reset_flag",
                    "Action on OTP reset",
                    "What of the old ones",
                ),
                *(Kind.CHOICE, "Remove none", ("Remove none", "Remove one", "Remove all")),
            ),
        ),
    ),
    Authenticator(
        "idp-review-profile",
        "Review Profile",
        "Shows what another provider has told",
        properties=(
            Property(
                *("update.profile.on.first.login", "Update Profile on First Login", "When to show"),
                *(Kind.CHOICE, "missing", ("on", "missing", "off")),
            ),
        ),
    ),
    Authenticator(
        "idp-create-user-if-unique",
        "Create User If Unique",
        "Makes an account where there is none of that address",
        properties=(
            _flag(
                "require.password.update.after.registration",
                "Require Password Update After Registration",
                "Whether a password must be set",
            ),
        ),
    ),
    Authenticator("idp-confirm-link", "Confirm link existing account", "Asks before linking"),
    Authenticator(
        "idp-email-verification", "Verify existing account by Email", "Sends a link by mail"
    ),
    Authenticator(
        "idp-username-password-form",
        "Username Password Form for identity provider reauthentication",
        "Asks for the password of the account to be linked",
        _ALWAYS,
    ),
    Authenticator(
        "idp-add-organization-member",
        "Organization Member Onboard",
        "Takes the user into an organisation",
    ),
    Authenticator(
        "docker-http-basic-authenticator",
        "Docker Authenticator",
        "Takes user name and password of Docker",
        _ALWAYS,
    ),
)

_CLIENTS: Final = (
    _client("client-secret", "Client Id and Secret", "Compares the client's secret"),
    _client("client-jwt", "Signed JWT", "Verifies a JWT that the client has signed"),
    _client(
        "client-secret-jwt",
        "Signed JWT with Client Secret",
        "Verifies a JWT that is signed with the client's secret",
    ),
    _client("client-x509", "X509 Certificate", "Compares the subject of the TLS certificate"),
    _client("federated-jwt", "Signed JWT - Federated", "Verifies a JWT of another provider"),
)

_FORMS: Final = (
    Authenticator(
        *("registration-page-form", "Registration Page", "Shows the registration page", _EITHER),
        role=Role.FORM,
    ),
    _form(
        *("registration-user-creation", "Registration User Profile Creation"), "Makes the account"
    ),
    _form(
        "registration-password-action",
        "Password Validation",
        "Takes the password of the account",
        (
            _flag(
                "always_set_password_on_register_form",
                "Always set password on register form",
                "Whether the password is set before the address is confirmed",
            ),
        ),
    ),
    _form("registration-recaptcha-action", "reCAPTCHA", "Asks a service whether it is a human"),
    _form("registration-terms-and-conditions", "Terms and conditions", "Asks to accept the terms"),
)

AUTHENTICATORS: Final[Mapping[str, Authenticator]] = {
    each.id: each for each in (*_USERS, *_CLIENTS, *_FORMS)
}
"""All of them, by id."""
ROLES: Final[Mapping[FlowKind, Role]] = {
    FlowKind.BASIC: Role.USER,
    FlowKind.CLIENT: Role.CLIENT,
    FlowKind.FORM: Role.FORM_ACTION,
}
"""Which authenticators have their place in a flow."""


def of_role(role: Role) -> tuple[Authenticator, ...]:
    """Return the authenticators of a role."""
    return tuple(each for each in AUTHENTICATORS.values() if each.role is role)
