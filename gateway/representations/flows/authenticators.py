"""The authenticators that flows may consist of: names, descriptions, requirements.

Names are Keycloak's, for clients find an execution by them.
Keycloak: authenticator-providers, client-authenticator-providers, form-action-providers
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.flows import ACTING, FORM_ACTIONS, FlowKind, Requirement
from gateway.representations.flows.authenticator_properties import PROPERTIES
from gateway.representations.provider_properties import Property

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

    @property
    def acts(self) -> bool:
        """Tell whether it acts in a sign-in of this version."""
        return self.id in ACTING or self.id in FORM_ACTIONS

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


def _authenticators() -> Iterator[Authenticator]:
    for line in _TABLE.strip().split("\n"):
        name, role, choices, label, text = line.split(" | ")
        properties = PROPERTIES.get(name, ())
        yield Authenticator(name, label, text, _CHOICES[choices], properties, Role(role))
    for each in CLIENT_AUTHENTICATORS:
        properties = PROPERTIES.get(each.id, ())
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
