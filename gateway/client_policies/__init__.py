"""Client policies: a realm's demands on its clients. Keycloak: client policies (26.7)."""

from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.client_policies.conditions import CONDITIONS
    from gateway.client_policies.events import (
        TOKEN_REQUESTS,
        AuthorizationRequested,
        AuthorizationStart,
        ClientChange,
        ClientRequest,
        EventKind,
        PolicyRefusal,
        Updater,
        UpdateSource,
        VerifiedClientAssertion,
        VerifiedClientCertificate,
        VerifiedCodeVerifier,
        VerifiedRequestObject,
    )
    from gateway.client_policies.executors import (
        EXECUTORS,
        LOOSENING,
        OF_OTHER_REQUESTS,
        WITHOUT_DEMANDS,
    )
    from gateway.client_policies.executors.client_authentication import SecretRotation
    from gateway.client_policies.interfaces import ClientSettings, EnforcedFlow, SignInDemands
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
        list_global_profiles,
        policy_problem,
        read_policies,
        sign_in_demands,
    )
else:
    __getattr__ = load_exports(__name__, __file__)
