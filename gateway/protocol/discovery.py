"""The public documents of a realm: metadata, key set, realm information.

Only what works here is listed. Spec: OpenID Connect Discovery §3, RFC 8414 §2, RFC 8705 §5,
RFC 9449 §5.1, RFC 9701 §7; Keycloak: 12.1 discovery, 12.2 keys
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from gateway.domain.clients import UNSIGNED
from gateway.domain.keys import ALGORITHMS_OF_CLIENTS, ContentEncryption, KeyManagement
from gateway.domain.ports.client_keys import PROOF_ALGORITHMS
from gateway.domain.ports.lookups import RealmEntry
from gateway.protocol.authorization import PROMPTS, RESPONSE_TYPES, Prompt
from gateway.protocol.authorization.levels import BY_COOKIE
from gateway.protocol.authorization.pkce import CODE_CHALLENGE_METHODS
from gateway.protocol.claims.subject import SUBJECT_TYPES
from gateway.protocol.client_authentication import METHOD_NAMES, SIGNING_ALGORITHMS
from gateway.protocol.grants import GRANTS
from gateway.protocol.response_modes import RESPONSE_MODE_NAMES
from gateway.protocol.scopes import OPENID, SIGNED_IN, scopes_of

_CLAIMS: Final = (
    *("iss", "sub", "aud", "exp", "iat", "auth_time", "name", "given_name", "family_name"),
    *("preferred_username", "email", "acr", "azp", "nonce"),
)


def openid_configuration(
    realm: RealmEntry, issuer: str, mtls_issuer: str | None, now: datetime
) -> dict[str, Any]:
    """Return the metadata at `now`; `mtls_issuer` is the address of the TLS listener."""
    endpoints = _endpoints(issuer)
    document: dict[str, Any] = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/protocol/openid-connect/auth",
        "token_endpoint": endpoints["token_endpoint"],
        "introspection_endpoint": endpoints["introspection_endpoint"],
        "userinfo_endpoint": endpoints["userinfo_endpoint"],
        "end_session_endpoint": f"{issuer}/protocol/openid-connect/logout",
        "frontchannel_logout_session_supported": True,
        "frontchannel_logout_supported": True,
        "jwks_uri": f"{issuer}/protocol/openid-connect/certs",
        "check_session_iframe": f"{issuer}/protocol/openid-connect/login-status-iframe.html",
        "grant_types_supported": [*GRANTS, "implicit"],
        "acr_values_supported": _classes(realm),
        "response_types_supported": list(RESPONSE_TYPES),
        "response_modes_supported": list(RESPONSE_MODE_NAMES),
        "prompt_values_supported": _prompts(realm),
        "subject_types_supported": list(SUBJECT_TYPES),
        "id_token_signing_alg_values_supported": list(ALGORITHMS_OF_CLIENTS),
        **_encryption("id_token", KeyManagement),
        "userinfo_signing_alg_values_supported": list(ALGORITHMS_OF_CLIENTS),
        **_encryption("userinfo", KeyManagement),
        "registration_endpoint": endpoints["registration_endpoint"],
        "token_endpoint_auth_methods_supported": list(METHOD_NAMES),
        "token_endpoint_auth_signing_alg_values_supported": list(SIGNING_ALGORITHMS),
        "introspection_endpoint_auth_methods_supported": list(METHOD_NAMES),
        "introspection_endpoint_auth_signing_alg_values_supported": list(SIGNING_ALGORITHMS),
        "introspection_signing_alg_values_supported": [realm.realm.signature_algorithm],
        "claims_supported": list(_CLAIMS),
        "claim_types_supported": ["normal"],
        "scopes_supported": [OPENID, *scopes_of(realm).shown],
        "code_challenge_methods_supported": list(CODE_CHALLENGE_METHODS),
        "tls_client_certificate_bound_access_tokens": True,
        "dpop_signing_alg_values_supported": list(PROOF_ALGORITHMS),
        "revocation_endpoint": endpoints["revocation_endpoint"],
        "revocation_endpoint_auth_methods_supported": list(METHOD_NAMES),
        "revocation_endpoint_auth_signing_alg_values_supported": list(SIGNING_ALGORITHMS),
    }
    document |= {
        "authorization_signing_alg_values_supported": list(ALGORITHMS_OF_CLIENTS),
        **_encryption("authorization", KeyManagement),
        "authorization_response_iss_parameter_supported": True,
        "claims_parameter_supported": True,
        "request_parameter_supported": True,
        "request_object_signing_alg_values_supported": [*ALGORITHMS_OF_CLIENTS, UNSIGNED],
        **_encryption("request_object", realm.key_ring.decryption_algorithms(now)),
        "request_uri_parameter_supported": True,
        "require_request_uri_registration": True,
        "device_authorization_endpoint": endpoints["device_authorization_endpoint"],
        "require_pushed_authorization_requests": False,
        "pushed_authorization_request_endpoint": endpoints["pushed_authorization_request_endpoint"],
        "backchannel_logout_supported": True,
        "backchannel_logout_session_supported": True,
    }
    if mtls_issuer is not None:
        document["mtls_endpoint_aliases"] = _endpoints(mtls_issuer)
    return document


def _encryption(what: str, algorithms: Iterable[KeyManagement]) -> dict[str, list[str]]:
    """Return what may be encrypted with; nothing for a realm without a key to decrypt."""
    found = list(map(str, algorithms))
    if not found:
        return {}
    return {
        f"{what}_encryption_alg_values_supported": found,
        f"{what}_encryption_enc_values_supported": list(map(str, ContentEncryption)),
    }


def _prompts(realm: RealmEntry) -> list[str]:
    """Return the values of `prompt`. Spec: Initiating User Registration via OpenID Connect 1.0."""
    return [*PROMPTS, *((Prompt.CREATE,) if realm.realm.login.registration_allowed else ())]


def _classes(realm: RealmEntry) -> list[str]:
    return [*dict.fromkeys((*realm.realm.protocol.levels, BY_COOKIE, SIGNED_IN))]


def _endpoints(issuer: str) -> dict[str, str]:
    protocol = f"{issuer}/protocol/openid-connect"
    return {
        "token_endpoint": f"{protocol}/token",
        "revocation_endpoint": f"{protocol}/revoke",
        "introspection_endpoint": f"{protocol}/token/introspect",
        "device_authorization_endpoint": f"{protocol}/auth/device",
        "registration_endpoint": f"{issuer}/clients-registrations/openid-connect",
        "userinfo_endpoint": f"{protocol}/userinfo",
        "pushed_authorization_request_endpoint": f"{protocol}/ext/par/request",
    }


def key_set(entry: RealmEntry, now: datetime) -> dict[str, Any]:
    """Return the realm's JWKS. Spec: RFC 7517 §5."""
    return {"keys": [dict(key) for key in entry.key_ring.public_jwks(now)]}


def realm_information(entry: RealmEntry, issuer: str, now: datetime) -> dict[str, Any]:
    """Return the realm's public document, served even while the realm is disabled."""
    return {
        "realm": entry.realm.name,
        "public_key": entry.key_ring.public_key(now),
        "token-service": f"{issuer}/protocol/openid-connect",
        "account-service": f"{issuer}/account",
        "tokens-not-before": entry.realm.not_before,
    }
