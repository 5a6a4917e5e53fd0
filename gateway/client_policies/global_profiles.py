"""The client profiles that every realm of Keycloak has: shown, and never changed.

`executors` is what acts; what does not is in `docs/setting-effects.toml`.
Descriptions are our own. Keycloak: global client profiles (26.7)
"""

from collections.abc import Mapping
from typing import Any, Final

_Executor = tuple[str, Mapping[str, Any]]

_AUTO: Final[Mapping[str, Any]] = {"auto-configure": True}
_AUTO_TEXT: Final[Mapping[str, Any]] = {"auto-configure": "true"}
_CERTIFICATE_OR_KEY: Final[_Executor] = (
    "secure-client-authenticator",
    {
        "allowed-client-authenticators": ["client-jwt", "client-x509"],
        "default-client-authenticator": "client-jwt",
    },
)
_ANY_PROOF: Final[_Executor] = (
    "secure-client-authenticator",
    {
        "allowed-client-authenticators": ["client-jwt", "client-secret-jwt", "client-x509"],
        "default-client-authenticator": "client-jwt",
    },
)
_PS256: Final[_Executor] = ("secure-signature-algorithm", {"default-algorithm": "PS256"})
_ASSERTION: Final[_Executor] = (
    "secure-signature-algorithm-signed-jwt",
    {"require-client-assertion": False},
)
_CONSENT: Final[_Executor] = ("consent-required", _AUTO)
_NARROW: Final[_Executor] = ("full-scope-disabled", _AUTO)
_NO_IMPLICIT: Final[_Executor] = ("reject-implicit-grant", _AUTO_TEXT)
_NO_PASSWORD: Final[_Executor] = ("reject-ropc-grant", _AUTO_TEXT)
_PKCE: Final[_Executor] = ("pkce-enforcer", _AUTO_TEXT)
_CERTIFICATE_BOUND: Final[_Executor] = ("holder-of-key-enforcer", _AUTO_TEXT)
_DPOP_BOUND: Final[_Executor] = (
    "dpop-bind-enforcer",
    {
        **_AUTO_TEXT,
        "enforce-authorization-code-binding-to-dpop": "false",
        "allow-only-refresh-token-binding": "false",
    },
)
_REDIRECTS: Final[_Executor] = (
    "secure-redirect-uris-enforcer",
    {
        "allow-ipv4-loopback-address": "true",
        "allow-ipv6-loopback-address": "true",
        "allow-private-use-uri-scheme": "true",
        "oauth-2-1-compliant": "true",
    },
)
_REQUEST_OBJECT: Final[_Executor] = (
    "secure-request-object",
    {"verify-nbf": True, "available-period": "3600", "encryption-required": False},
)
_PUSHED: Final[_Executor] = ("secure-par-content", {})
_OWN_ASSERTION: Final[_Executor] = ("secure-client-authentication-assertion", {})
_FAPI_2: Final[tuple[_Executor, ...]] = (
    ("confidential-client", {}),
    _CERTIFICATE_OR_KEY,
    ("secure-client-uris", {}),
    _PS256,
    _ASSERTION,
    _CONSENT,
    _NARROW,
    _NO_IMPLICIT,
)
_TABLE: Final[tuple[tuple[str, str, tuple[_Executor, ...]], ...]] = (
    (
        "fapi-1-baseline",
        "FAPI 1.0, baseline",
        (
            ("secure-session", {}),
            ("pkce-enforcer", _AUTO),
            _ANY_PROOF,
            ("secure-client-uris", {}),
            _CONSENT,
            _NARROW,
        ),
    ),
    (
        "fapi-1-advanced",
        "FAPI 1.0, advanced",
        (
            ("secure-session", {}),
            ("confidential-client", {}),
            _CERTIFICATE_OR_KEY,
            ("secure-client-uris", {}),
            ("secure-request-object", {"available-period": "3600", "verify-nbf": True}),
            ("secure-response-type", {**_AUTO, "allow-token-response-type": False}),
            _PS256,
            _ASSERTION,
            _CONSENT,
            _NARROW,
            ("holder-of-key-enforcer", _AUTO),
        ),
    ),
    (
        "fapi-ciba",
        "FAPI CIBA, together with fapi-1-advanced",
        (
            ("secure-ciba-req-sig-algorithm", {"default-algorithm": "PS256"}),
            ("secure-ciba-session", {}),
            ("secure-ciba-signed-authn-req", {"available-period": "3600"}),
        ),
    ),
    (
        "fapi-2-security-profile",
        "FAPI 2.0 Security Profile",
        (*_FAPI_2, _CERTIFICATE_BOUND, _PKCE, _OWN_ASSERTION, _PUSHED),
    ),
    (
        "fapi-2-message-signing",
        "FAPI 2.0 Message Signing",
        (*_FAPI_2, _CERTIFICATE_BOUND, _PKCE, _PUSHED, _REQUEST_OBJECT, _OWN_ASSERTION),
    ),
    (
        "oauth-2-1-for-confidential-client",
        "OAuth 2.1 for confidential clients",
        (
            ("confidential-client", {}),
            _CERTIFICATE_OR_KEY,
            _REDIRECTS,
            _PKCE,
            _CERTIFICATE_BOUND,
            _NO_IMPLICIT,
            _NO_PASSWORD,
        ),
    ),
    (
        "oauth-2-1-for-public-client",
        "OAuth 2.1 for public clients",
        (_REDIRECTS, _PKCE, _DPOP_BOUND, _NO_IMPLICIT, _NO_PASSWORD),
    ),
    (
        "fapi-2-dpop-security-profile",
        "FAPI 2.0 Security Profile with DPoP",
        (*_FAPI_2, _PKCE, _OWN_ASSERTION, _PUSHED, _DPOP_BOUND),
    ),
    (
        "fapi-2-dpop-message-signing",
        "FAPI 2.0 Message Signing with DPoP",
        (*_FAPI_2, _PKCE, _PUSHED, _REQUEST_OBJECT, _DPOP_BOUND, _OWN_ASSERTION),
    ),
    (
        "saml-security-profile",
        "Secure SAML clients",
        (
            ("saml-secure-client-uris", {}),
            ("saml-signature-enforcer", {}),
            ("saml-avoid-redirect", {}),
        ),
    ),
)


def list_global_profiles() -> list[dict[str, Any]]:
    """Return their representations, in Keycloak's order."""
    return [
        {
            "name": name,
            "description": description,
            "executors": [
                {"executor": executor, "configuration": dict(configuration)}
                for executor, configuration in executors
            ],
        }
        for name, description, executors in _TABLE
    ]
