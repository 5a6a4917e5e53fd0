"""Executors of client policies: those that act, and those that do not.

An enabled policy with an executor or a condition that does not act is refused: who stores it would
expect a protection.
Keycloak: client policy executors, global client profiles (26.7)
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.client_policies import (
    EXECUTORS,
    LOOSENING,
    OF_OTHER_REQUESTS,
    WITHOUT_DEMANDS,
    entries,
    list_global_profiles,
    policy_problem,
)
from gateway.representations.setting_effects.rows import (
    Place,
    SettingRow,
    is_given,
    refused,
    stored,
    works,
)

_EXECUTOR: Final = Place.EXECUTOR

GLOBAL_PROFILES: Final = frozenset(profile["name"] for profile in list_global_profiles())
"""The profiles that every realm of Keycloak 26.7 has."""
_UNKNOWN: Final = "an executor that this version does not know would not judge"
_OF_ROTATION: Final = "secret-rotation"
_OF_FAPI: Final = (
    "secure-par-content secure-request-object secure-client-authentication-assertion"
    " secure-signature-algorithm-signed-jwt pkce-enforcer confidential-client dpop-bind-enforcer"
)
_OF_REQUESTS: Final = (
    "holder-of-key-enforcer reject-request reject-implicit-grant reject-ropc-grant secure-session"
    " secure-response-type"
    " use-lightweight-access-token"
)
_OF_CLIENTS: Final = (
    "consent-required full-scope-disabled secure-client-authenticator secure-client-uris"
    " secure-client-uris-pattern secure-redirect-uris-enforcer secure-signature-algorithm"
    " secure-logout tls-client-auth-ca-subject-dn"
)
_TESTS: Final[Mapping[str, str]] = {
    "tests/spec/test_client_secret_rotation.py": _OF_ROTATION,
    "tests/http/test_client_policies_of_fapi.py": _OF_FAPI,
    "tests/http/test_client_policies_of_flows.py": "auth-flow-enforcer",
    "tests/http/test_client_policies_of_requests.py": _OF_REQUESTS,
    "tests/http/test_client_policies_of_clients.py": _OF_CLIENTS,
}

EXECUTOR_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(_EXECUTOR, _TESTS),
    refused(
        *(_EXECUTOR, "intent-client-bind-checker"),
        "Nothing asks the server that binds intents, so no request would be judged",
        refuses=is_given,
        sample="intent-client-bind-checker",
        allowed="not in an enabled policy",
    ),
    *stored(
        _EXECUTOR,
        {
            "Judges requests that no endpoint accepts": " ".join(sorted(OF_OTHER_REQUESTS)),
            "It would allow more; the stricter default holds": " ".join(sorted(LOOSENING)),
        },
    ),
)


def demanding_policies(policies: Any, profiles: Any) -> dict[str, str]:
    """Return the reason of each enabled policy that could not be applied, by the policy's name.

    `policies` and `profiles` are the checked documents `clientPolicies` and `clientProfiles`.
    """
    known = {profile.get("name"): profile for profile in entries(profiles, "profiles")}
    known |= {profile["name"]: profile for profile in list_global_profiles()}
    found: dict[str, str] = {}
    for policy in entries(policies, "policies"):
        if not policy.get("enabled") or not policy.get("conditions"):
            continue
        demands = [_demand(known[name]) for name in policy.get("profiles") or () if name in known]
        acts = any(acting for acting, _ in demands)
        reason = next((reason for _, reason in demands if reason), None)
        if reason is None and acts:
            reason = policy_problem(policy, profiles)
        if reason:
            found[str(policy.get("name"))] = reason
    return found


def _demand(profile: Mapping[str, Any]) -> tuple[bool, str | None]:
    """Return whether an executor of the profile acts, and what would be missing of the others."""
    acts, reason = False, None
    for executor in entries(profile, "executors"):
        name = str(executor.get("executor"))
        if name not in EXECUTORS.keys() | WITHOUT_DEMANDS:
            reason = reason or _UNKNOWN
        acts = acts or name in EXECUTORS
    return acts, reason
