"""The executors of client policies that act: one file and one line each."""

from collections.abc import Mapping
from typing import Final

from gateway.client_policies.executors.auth_flow_enforcer import AuthFlowEnforcer
from gateway.client_policies.executors.confidential_client import ConfidentialClient
from gateway.client_policies.executors.consent_required import ConsentRequired
from gateway.client_policies.executors.dpop_bind_enforcer import DpopBindEnforcer
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.executors.full_scope_disabled import FullScopeDisabled
from gateway.client_policies.executors.holder_of_key_enforcer import HolderOfKeyEnforcer
from gateway.client_policies.executors.pkce_enforcer import PkceEnforcer
from gateway.client_policies.executors.reject_implicit_grant import RejectImplicitGrant
from gateway.client_policies.executors.reject_password_grant import RejectPasswordGrant
from gateway.client_policies.executors.reject_request import RejectRequest
from gateway.client_policies.executors.secret_rotation import SecretRotation
from gateway.client_policies.executors.secure_client_authentication_assertion import (
    SecureClientAuthenticationAssertion,
)
from gateway.client_policies.executors.secure_client_authenticator import (
    SecureClientAuthenticator,
)
from gateway.client_policies.executors.secure_client_uris import SecureClientUris
from gateway.client_policies.executors.secure_client_uris_pattern import (
    SecureClientUrisPattern,
)
from gateway.client_policies.executors.secure_logout import SecureLogout
from gateway.client_policies.executors.secure_par_content import SecureParContent
from gateway.client_policies.executors.secure_redirect_uris_enforcer import (
    SecureRedirectUrisEnforcer,
)
from gateway.client_policies.executors.secure_request_object import SecureRequestObject
from gateway.client_policies.executors.secure_response_type import SecureResponseType
from gateway.client_policies.executors.secure_session import SecureSession
from gateway.client_policies.executors.secure_signature_algorithm import (
    SecureSignatureAlgorithm,
)
from gateway.client_policies.executors.secure_signature_algorithm_signed_jwt import (
    SecureSignatureAlgorithmSignedJwt,
)
from gateway.client_policies.executors.tls_client_auth_ca_subject_dn import (
    TlsClientAuthCaSubjectDn,
)
from gateway.client_policies.executors.use_lightweight_access_token import (
    UseLightweightAccessToken,
)

EXECUTORS: Final[Mapping[str, type[Executor]]] = {
    executor.provider: executor
    for executor in (
        AuthFlowEnforcer,
        ConfidentialClient,
        ConsentRequired,
        DpopBindEnforcer,
        FullScopeDisabled,
        HolderOfKeyEnforcer,
        PkceEnforcer,
        RejectImplicitGrant,
        RejectPasswordGrant,
        RejectRequest,
        SecretRotation,
        SecureClientAuthenticationAssertion,
        SecureClientAuthenticator,
        SecureClientUris,
        SecureClientUrisPattern,
        SecureLogout,
        SecureParContent,
        SecureRedirectUrisEnforcer,
        SecureRequestObject,
        SecureResponseType,
        SecureSession,
        SecureSignatureAlgorithm,
        SecureSignatureAlgorithmSignedJwt,
        TlsClientAuthCaSubjectDn,
        UseLightweightAccessToken,
    )
}
"""Keycloak's id -> executor."""
OF_OTHER_REQUESTS: Final = frozenset(
    {
        *("client-id-metadata-document", "downscope-assertion-grant-enforcer"),
        *("jwt-claim-enforcer", "saml-avoid-redirect"),
        *("saml-secure-client-uris", "saml-signature-enforcer", "secure-ciba-req-sig-algorithm"),
        *("secure-ciba-session", "secure-ciba-signed-authn-req"),
    }
)
"""Executors that judge only requests which no endpoint accepts."""
LOOSENING: Final = frozenset(
    {"registration-access-token-rotation-disabled", "suppress-refresh-token-rotation"}
)
"""Executors that would allow more; the stricter default holds."""
WITHOUT_DEMANDS: Final = OF_OTHER_REQUESTS | LOOSENING
