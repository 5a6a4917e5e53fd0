"""The authenticators that flows may consist of: names, and what may be set of each.

They are those of the flows that a realm is created with. Names are Keycloak's, for clients find an
execution by them.
Keycloak: authenticator-providers, client-authenticator-providers, form-action-providers
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.flows import FlowKind, Requirement
from gateway.representations.provider_properties import Kind, Property

_REQUIRED, _ALTERNATIVE = Requirement.REQUIRED, Requirement.ALTERNATIVE
_DISABLED, _CONDITIONAL = Requirement.DISABLED, Requirement.CONDITIONAL
_EITHER: Final = (_REQUIRED, _DISABLED)
_USUAL: Final = (_REQUIRED, _ALTERNATIVE, _DISABLED)
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
    choices: tuple[Requirement, ...]
    properties: tuple[Property, ...]
    role: Role

    def listed(self) -> dict[str, Any]:
        members = {"displayName": self.name, "description": self.help, "id": self.id}
        if self.role is Role.CLIENT:
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
}


def _flag(name: str, label: str, text: str) -> tuple[Property, ...]:
    return (Property(name, label, text, Kind.FLAG),)


def _choice(name: str, label: str, text: str, usual: str, *options: str) -> tuple[Property, ...]:
    return (Property(name, label, text, Kind.CHOICE, usual, options),)


_PROPERTIES: Final[Mapping[str, tuple[Property, ...]]] = {
    "identity-provider-redirector": (
        Property("defaultProvider", "Default Identity Provider", "The provider's alias"),
    ),
    "organization": _flag(
        "requiresUserMembership", "Requires user membership", "Whether members alone"
    ),
    "conditional-credential": (
        Property(
            *("credentials", "Credentials", "Types of credentials, separated by ##"), Kind.CHOICES
        ),
        *_flag("included", "Included", "Whether they must, or must not, have been used"),
    ),
    "reset-credential-email": _choice(
        *("force-login", "Force login after reset", "Whether to sign in anew after it"),
        *("only-federated", "true", "false", "only-federated"),
    ),
    "reset-otp": _choice(
        *("action_on_otp_reset_flag", "Action on OTP reset", "What of the old ones"),
        *("Remove none", "Remove none", "Remove one", "Remove all"),
    ),
    "idp-review-profile": _choice(
        *("update.profile.on.first.login", "Update Profile on First Login", "When to show"),
        *("missing", "on", "missing", "off"),
    ),
    "idp-create-user-if-unique": _flag(
        "require.password.update.after.registration",
        "Require Password Update After Registration",
        "Whether a password must be set",
    ),
    "registration-password-action": _flag(
        "always_set_password_on_register_form",
        "Always set password on register form",
        "Whether the password is set before the address is confirmed",
    ),
}
_TABLE: Final = """
auth-cookie | user | usual | Cookie | Lets in who has signed in before
auth-spnego | user | usual | Kerberos | Signs in by Kerberos
identity-provider-redirector | user | usual | Identity Provider Redirector | Sends the user to \
another provider
organization | user | usual | Organization Identity-First Login | Sends members of an \
organisation to their provider
auth-username-password-form | user | always | Username Password Form | Asks for user name and \
password on a page
auth-otp-form | user | usual | OTP Form | Asks for a one-time password on a page
webauthn-authenticator | user | usual | WebAuthn Authenticator | Asks for a security key
auth-recovery-authn-code-form | user | usual | Recovery Authentication Code Form | Asks for a \
recovery code on a page
conditional-user-configured | user | either | Condition - user configured | Asks for the rest of \
the flow only of users who have set it up
conditional-credential | user | either | Condition - credential | Asks for the rest of the flow \
by what the user has signed in with
direct-grant-validate-username | user | always | Username Validation | Takes the user name of a \
request for a token
direct-grant-validate-password | user | usual | Password | Checks the password of such a request
direct-grant-validate-otp | user | usual | OTP | Checks the one-time password of such a request
reset-credentials-choose-user | user | always | Choose User | Asks who has forgotten
reset-credential-email | user | always | Send Reset Email | Sends a link by mail
reset-password | user | usual | Reset Password | Asks for a new password
reset-otp | user | usual | Reset OTP | Asks to set up one-time passwords anew
idp-review-profile | user | usual | Review Profile | Shows what another provider has told
idp-create-user-if-unique | user | usual | Create User If Unique | Makes an account where there \
is none of that address
idp-confirm-link | user | usual | Confirm link existing account | Asks before linking
idp-email-verification | user | usual | Verify existing account by Email | Sends a link by mail
idp-username-password-form | user | always | Username Password Form for identity provider \
reauthentication | Asks for the password of the account to be linked
idp-add-organization-member | user | usual | Organization Member Onboard | Takes the user into an \
organisation
docker-http-basic-authenticator | user | always | Docker Authenticator | Takes user name and \
password of Docker
registration-page-form | form | either | Registration Page | Shows the registration page
registration-user-creation | form action | either | Registration User Profile Creation | Makes \
the account
registration-password-action | form action | either | Password Validation | Takes the password of \
the account
registration-recaptcha-action | form action | either | reCAPTCHA | Asks a service whether it is a \
human
registration-terms-and-conditions | form action | either | Terms and conditions | Asks to accept \
the terms
"""
"""An authenticator: id, role, the choices of its requirement, name, and what it does.

Those of clients are CLIENT_AUTHENTICATORS.
"""


def _authenticators() -> Iterator[Authenticator]:
    for line in _TABLE.strip().split("\n"):
        name, role, choices, label, text = line.split(" | ")
        properties = _PROPERTIES.get(name, ())
        yield Authenticator(name, label, text, _CHOICES[choices], properties, Role(role))
    for each in CLIENT_AUTHENTICATORS:
        properties = _PROPERTIES.get(each.id, ())
        yield Authenticator(each.id, each.name, each.help, _USUAL, properties, Role.CLIENT)


AUTHENTICATORS: Final = {each.id: each for each in _authenticators()}
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
