"""Authentication flows, required actions, and what they require of a sign-in."""

from gateway.domain.flows.certificate_options import CertificateOptions, IdentitySource
from gateway.domain.flows.direct_grant import (
    ACTING,
    ALLOW,
    CLIENT_SCOPE,
    CODE,
    CREDENTIAL_USED,
    DENY,
    PATTERNS,
    SESSION_LIMITS,
    STANDARD_GRANT,
    SUB_FLOW_EXECUTED,
    USER_ATTRIBUTE,
    USER_CONFIGURED,
    USER_ROLE,
    DirectGrantFlow,
    FlowStep,
    SignInFlow,
    direct_grant_flow,
)
from gateway.domain.flows.effects import client_methods
from gateway.domain.flows.flows import (
    AuthenticatorConfig,
    Execution,
    Flow,
    FlowKind,
    Flows,
    Requirement,
)
from gateway.domain.flows.sign_in import (
    DIRECT_GRANT,
    REQUIRED_ACTIONS,
    STANDARD,
    UPDATE_PASSWORD,
    VERIFY_EMAIL,
    VERIFY_PROFILE,
    RequiredAction,
    SignInDemands,
    SignInRules,
    sign_in_rules,
)
