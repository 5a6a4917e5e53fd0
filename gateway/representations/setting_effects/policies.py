"""Executors of client policies: which of them an enabled policy may name.

Only `secret-rotation` is applied. Another executor is harmless where it judges requests that fail
anyway, or would allow more; of any other one the operator would expect a protection.
Keycloak: client policy executors, global client profiles (26.7)
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.representations.secret_rotation import EVALUATED_CONDITIONS, SECRET_ROTATION, entries
from gateway.representations.setting_effects.rows import Place, SettingRow, refused, stored, works

_EXECUTOR: Final = Place.EXECUTOR

_DEMANDS: Final[Mapping[str, str]] = {
    "auth-flow-enforcer": "the flow would not be chosen",
    "confidential-client": "public clients would be accepted",
    "consent-required": "clients without consent would be accepted",
    "dpop-bind-enforcer": "tokens would not be bound",
    "full-scope-disabled": "clients with full scope would be accepted",
    "holder-of-key-enforcer": "tokens would not be bound",
    "reject-request": "requests would be accepted",
    "reject-ropc-grant": "the password grant would be accepted",
    "secure-client-authenticator": "any client authentication method would be accepted",
    "secure-client-uris": "addresses without TLS would be accepted",
    "secure-client-uris-pattern": "any address would be accepted",
    "secure-redirect-uris-enforcer": "any redirect URI would be accepted",
    "secure-signature-algorithm": "any algorithm would be accepted",
    "tls-client-auth-ca-subject-dn": "any trusted certificate authority would be accepted",
    "use-lightweight-access-token": "access tokens would hold all claims",
}
_HARMLESS: Final = (
    "downscope-assertion-grant-enforcer intent-client-bind-checker jwt-claim-enforcer"
    " pkce-enforcer reject-implicit-grant saml-avoid-redirect saml-secure-client-uris"
    " saml-signature-enforcer secure-ciba-req-sig-algorithm secure-ciba-session"
    " secure-ciba-signed-authn-req secure-logout secure-client-authentication-assertion"
    " secure-par-content secure-request-object secure-response-type secure-session"
    " secure-signature-algorithm-signed-jwt client-id-metadata-document"
)
_LOOSER: Final = "registration-access-token-rotation-disabled suppress-refresh-token-rotation"
_WITHOUT_DEMANDS: Final = frozenset(f"{_HARMLESS} {_LOOSER}".split())
_GLOBAL_PROFILES: Final[Mapping[str, str]] = {
    profile: _DEMANDS[executor]
    for executor, profiles in (
        ("secure-client-authenticator", "fapi-1-baseline fapi-1-advanced"),
        ("holder-of-key-enforcer", "fapi-2-security-profile fapi-2-message-signing"),
        ("dpop-bind-enforcer", "fapi-2-dpop-security-profile fapi-2-dpop-message-signing"),
        ("reject-ropc-grant", "oauth-2-1-for-confidential-client oauth-2-1-for-public-client"),
    )
    for profile in profiles.split()
}
"""Keycloak's own profiles that demand something, and the first thing that would be missing."""
_GLOBAL_WITHOUT_DEMANDS: Final = frozenset({"fapi-ciba", "saml-security-profile"})
GLOBAL_PROFILES: Final = _GLOBAL_WITHOUT_DEMANDS | _GLOBAL_PROFILES.keys()
"""The profiles that every realm of Keycloak 26.7 has."""
_UNKNOWN: Final = "an executor that this version does not know would not judge"

EXECUTOR_ROWS: Final[tuple[SettingRow, ...]] = (
    *(
        refused(
            *(_EXECUTOR, name, f"client policies are not applied yet: {reason}"),
            refuses=bool,
            sample=name,
            allowed="a disabled policy",
        )
        for name, reason in _DEMANDS.items()
    ),
    *works(
        _EXECUTOR,
        {"tests/spec/test_client_secret_rotation.py": SECRET_ROTATION},
        {
            SECRET_ROTATION: "With the conditions `any-client` and `client-access-type`; others are"
            " refused"
        },
    ),
    *stored(
        _EXECUTOR,
        {
            "Judges requests that no endpoint accepts": _HARMLESS,
            "It would allow more; the stricter default holds": _LOOSER,
        },
    ),
)


def demanding_policies(policies: Any, profiles: Any) -> dict[str, str]:
    """Return the reason of each enabled policy that demands something, by the policy's name.

    `policies` and `profiles` are the checked documents `clientPolicies` and `clientProfiles`.
    """
    known = {profile.get("name"): profile for profile in entries(profiles, "profiles")}
    found: dict[str, str] = {}
    for policy in entries(policies, "policies"):
        if not policy.get("enabled") or not policy.get("conditions"):
            continue
        for name in policy.get("profiles") or ():
            reason = _demand(policy, known[name]) if name in known else _GLOBAL_PROFILES.get(name)
            if reason:
                found[str(policy.get("name"))] = reason
    return found


def _demand(policy: Mapping[str, Any], profile: Mapping[str, Any]) -> str | None:
    conditions = {condition.get("condition") for condition in entries(policy, "conditions")}
    for executor in entries(profile, "executors"):
        name = executor.get("executor")
        if name == SECRET_ROTATION:
            if not conditions <= EVALUATED_CONDITIONS:
                return "its conditions are not evaluated: secrets would not expire"
        elif name not in _WITHOUT_DEMANDS:
            return _DEMANDS.get(str(name), _UNKNOWN)
    return None
