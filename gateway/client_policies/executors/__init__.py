"""The executors of client policies that act: their table."""

from collections.abc import Mapping
from typing import Final

from gateway.client_policies.executors.authorization_requests import (
    AuthFlowEnforcer,
    PkceEnforcer,
    RejectImplicitGrant,
    RejectPasswordGrant,
    RejectRequest,
    SecureParContent,
    SecureRequestObject,
    SecureResponseType,
    SecureSession,
)
from gateway.client_policies.executors.client_authentication import (
    DpopBindEnforcer,
    HolderOfKeyEnforcer,
    SecretRotation,
    SecureClientAuthenticationAssertion,
    SecureClientAuthenticator,
    SecureSignatureAlgorithm,
    SecureSignatureAlgorithmSignedJwt,
    TlsClientAuthCaSubjectDn,
)
from gateway.client_policies.executors.client_settings import (
    ConfidentialClient,
    ConsentRequired,
    FullScopeDisabled,
    SecureClientUris,
    SecureClientUrisPattern,
    SecureLogout,
    SecureRedirectUrisEnforcer,
    UseLightweightAccessToken,
)
from gateway.client_policies.interfaces import Executor

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
