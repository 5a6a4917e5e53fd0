"""The authenticators that flows may consist of: names, descriptions, requirements.

Names and descriptions are Keycloak's, for clients find an execution by them.
Keycloak: authenticator-providers, client-authenticator-providers, form-action-providers
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.flows import ACTING, FlowKind, Requirement
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


NEEDS_PAGES: Final = (
    "cannot act yet: it needs a page; a flow of the password grant with it is refused"
)
"""Why an authenticator of users does not act."""


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
        """Tell whether it acts in a sign-in of this version: those of pages do not."""
        return self.id in ACTING

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
auth-cookie | user | usual | Cookie | Validates the SSO cookie set by the auth server.
auth-spnego | user | usual | Kerberos | Initiates the SPNEGO protocol.  Most often used with \
Kerberos.
identity-provider-redirector | user | usual | Identity Provider Redirector | Redirects to default \
Identity Provider or Identity Provider specified with kc_idp_hint query parameter
organization | user | usual | Organization Identity-First Login | If organizations are enabled, \
automatically redirects users to the corresponding identity provider.
auth-username-password-form | user | always | Username Password Form | Validates a username and \
password from login form.
auth-otp-form | user | usual | OTP Form | Validates a OTP on a separate OTP form.
webauthn-authenticator | user | usual | WebAuthn Authenticator | Authenticator for WebAuthn. \
Usually used for WebAuthn two-factor authentication
auth-recovery-authn-code-form | user | usual | Recovery Authentication Code Form | Validates a \
Recovery Authentication Code
conditional-user-configured | user | either | Condition - user configured | Executes the current \
flow only if authenticators are configured
conditional-credential | user | either | Condition - credential | Condition to evaluate if a \
specific credential type has been used (or not used) by the user during the authentication \
process
direct-grant-validate-username | user | always | Username Validation | Validates the username \
supplied as a 'username' form parameter in direct grant request
direct-grant-validate-password | user | usual | Password | Validates the password supplied as a \
'password' form parameter in direct grant request
direct-grant-validate-otp | user | usual | OTP | Validates the one time password supplied as a \
'totp' form parameter in direct grant request
reset-credentials-choose-user | user | always | Choose User | Choose a user to reset credentials \
for
reset-credential-email | user | always | Send Reset Email | Send email to user and wait for \
response.
reset-password | user | usual | Reset Password | Sets the Update Password required action if \
execution is REQUIRED.  Will also set it if execution is OPTIONAL and the password is currently \
configured for it.
reset-otp | user | usual | Reset OTP | Removes existing OTP configurations (if chosen) and sets \
the 'Configure OTP' required action.
idp-review-profile | user | usual | Review Profile | User reviews and updates profile data \
retrieved from Identity Provider in the displayed form
idp-create-user-if-unique | user | usual | Create User If Unique | Detect if there is existing \
Keycloak account with same email like identity provider. If no, create new user
idp-confirm-link | user | usual | Confirm link existing account | Show the form where user \
confirms if he wants to link identity provider with existing account or rather edit user profile \
data retrieved from identity provider to avoid conflict
idp-email-verification | user | usual | Verify existing account by Email | Email verification of \
existing Keycloak user, that wants to link his user account with identity provider
idp-username-password-form | user | always | Username Password Form for identity provider \
reauthentication | Validates a password from login form. Username may be already known from \
identity provider authentication
idp-add-organization-member | user | usual | Organization Member Onboard | Adds a federated user \
as a member of an organization
docker-http-basic-authenticator | user | always | Docker Authenticator | Uses HTTP Basic \
authentication to validate docker users, returning a docker error token on auth failure
conditional-client-scope | user | either | Condition - client scope | Condition to evaluate if a \
configured client scope is present as a client scope of the client requesting authentication
idp-confirm-override-link | user | either | Confirm override existing link | Confirm override the \
link if there is an existing broker user linked to the account.
direct-grant-auth-x509-username | user | always | X509/Validate Username | Validates username and \
password from X509 client certificate received as a part of mutual SSL handshake.
auth-password-form | user | usual | Password Form | Validates a password from login form.
allow-access-authenticator | user | either | Allow access | Authenticator will always \
successfully authenticate. Useful for example in the conditional flows to be used after \
satisfying the previous conditions
idp-auto-link | user | usual | Automatically set existing user | Automatically set existing user \
to authentication context without any verification
auth-x509-client-username-form | user | usual | X509/Validate Username Form | Validates username \
and password from X509 client certificate received as a part of mutual SSL handshake.
conditional-sub-flow-executed | user | either | Condition - sub-flow executed | Condition to \
evaluate if a sub-flow was executed successfully during the authentication process
conditional-user-role | user | either | Condition - user role | Flow is executed only if user has \
the given role.
deny-access-authenticator | user | either | Deny access | Access will be always denied. Useful \
for example in the conditional flows to be used after satisfying the previous conditions
webauthn-authenticator-passwordless | user | usual | WebAuthn Passwordless Authenticator | \
Authenticator for Passwordless WebAuthn authentication
auth-conditional-otp-form | user | usual | Conditional OTP Form | Validates a OTP on a separate \
OTP form. Only shown if required based on the configured conditions.
user-session-limits | user | either | User session count limiter | Configures how many concurrent \
sessions a single user is allowed to create for this realm and/or client
conditional-user-attribute | user | either | Condition - user attribute | Flow is executed only \
if the user attribute exists and has the expected value
auth-username-form | user | always | Username Form | Selects a user from his username.
idp-detect-existing-broker-user | user | either | Detect existing broker user | Detect if there \
is an existing Keycloak account with same email like identity provider. If no, throw an error.
http-basic-authenticator | user | any | HTTP Basic Authentication | Validates username and \
password from Authorization HTTP header
conditional-level-of-authentication | user | either | Condition - Level of Authentication | Flow \
is executed only if the configured LOA or a higher one has been requested but not yet satisfied. \
After the flow is successfully finished, the LOA in the session will be updated to value \
prescribed by this condition.
registration-page-form | form | either | Registration Page | This is the controller for the \
registration page
registration-user-creation | form action | either | Registration User Profile Creation | This \
action must always be first! Validates the username and user profile of the user in validation \
phase. In success phase, this will create the user in the database including his user profile.
registration-password-action | form action | either | Password Validation | Validates that \
password matches password confirmation field. It also will store password in user's credential \
store.
registration-recaptcha-action | form action | either | reCAPTCHA | Adds Google reCAPTCHA to the \
form.
registration-terms-and-conditions | form action | either | Terms and conditions | Asks the user \
to accept terms and conditions before submitting its registration form.
registration-recaptcha-enterprise | form action | either | reCAPTCHA Enterprise | Adds Google \
reCAPTCHA Enterprise to the form.
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
