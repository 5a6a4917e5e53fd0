"""Authentication flows, required actions, and what they require of a sign-in."""

from gateway.domain.flows.authenticator_kinds import (
    ACTING,
    ALLOW,
    AUTHENTICATOR_KINDS,
    CERTIFICATE,
    CLIENT_SCOPE,
    CODE,
    CODE_FORM,
    COOKIE,
    CREDENTIAL_USED,
    DENY,
    KIND_OF,
    LEVEL,
    NEVER_SET_UP,
    PASSKEY_FORM,
    PASSWORD,
    PASSWORD_FORM,
    PATTERNS,
    RECOVERY_CODE_FORM,
    SECURITY_KEY_FORM,
    SESSION_LIMITS,
    SUB_FLOW_EXECUTED,
    UNAVAILABLE_CREDENTIALS,
    USER_ATTRIBUTE,
    USER_CONFIGURED,
    USER_ROLE,
    USERNAME,
    USERNAME_FORM,
    USERNAME_PASSWORD_FORM,
    AuthenticatorKind,
    Place,
)
from gateway.domain.flows.certificate_identity import (
    CertificateOptions,
    IdentitySource,
    certificate_options,
)
from gateway.domain.flows.client_flow import client_methods
from gateway.domain.flows.direct_grant import STANDARD_GRANT, direct_grant_flow, needs_username
from gateway.domain.flows.flows import (
    AuthenticatorConfig,
    Execution,
    Flow,
    FlowKind,
    Flows,
    Requirement,
)
from gateway.domain.flows.sign_in import (
    BROWSER,
    CONFIGURE_RECOVERY_CODES,
    CONFIGURE_TOTP,
    DIRECT_GRANT,
    REGISTER_PASSKEY,
    REGISTER_SECURITY_KEY,
    REQUIRED_ACTIONS,
    STANDARD,
    TERMS_AND_CONDITIONS,
    UPDATE_PASSWORD,
    UPDATE_PROFILE,
    VERIFY_EMAIL,
    VERIFY_PROFILE,
    RequiredAction,
    SignInRules,
    sign_in_rules,
)
from gateway.domain.flows.sign_in_flow import FlowStep, SignInFlow, sign_in_flow
