"""Client policies: what a realm demands of its clients, by conditions and executors.

Keycloak: client policies (26.7)
"""

from gateway.client_policies.conditions import CONDITIONS
from gateway.client_policies.enforced_flow import EnforcedFlow, SignInDemands
from gateway.client_policies.events import (
    TOKEN_REQUESTS,
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
    EventKind,
    Updater,
    UpdateSource,
)
from gateway.client_policies.executors import (
    EXECUTORS,
    LOOSENING,
    OF_OTHER_REQUESTS,
    WITHOUT_DEMANDS,
)
from gateway.client_policies.executors.secret_rotation import SecretRotation
from gateway.client_policies.global_profiles import list_global_profiles
from gateway.client_policies.policies import (
    ClientPolicy,
    applied_executors,
    apply_to_change,
    apply_to_request,
    check_authorization,
    check_start,
    client_for_tokens,
    entries,
    executor_problem,
    policy_problem,
    read_policies,
)
from gateway.client_policies.refusal import PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.client_policies.verified import (
    VerifiedClientAssertion,
    VerifiedClientCertificate,
    VerifiedCodeVerifier,
    VerifiedRequestObject,
)
