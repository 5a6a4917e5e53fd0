"""Settings and attributes of realms. Keycloak: RealmRepresentation, RealmAttributes (26.7).

Fields that wait for something are listed in `realm_effects`; the rows here add those that work and
those that are refused.
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.representations.setting_effects.realm_attributes import MIRRORED
from gateway.representations.setting_effects.realm_effects import WAITING
from gateway.representations.setting_effects.rows import (
    Effect,
    Place,
    SettingRow,
    is_given,
    is_true,
    refused,
    stored,
    works,
)

_FIELD: Final = Place.REALM_FIELD
_ATTRIBUTE: Final = Place.REALM_ATTRIBUTE
_SESSIONS: Final = "tests/spec/test_refresh_and_sessions.py"
_GUARD: Final = "tests/spec/test_brute_force_guard.py"
_EVENTS: Final = "tests/http/test_admin_events.py"
_CHANGES: Final = "tests/http/test_admin_user_changes.py"
_CODES: Final = "tests/contract/test_one_time_password_login.py"
_POLICY: Final[Mapping[str, Any]] = {
    "policies": [
        {
            "name": "p",
            "enabled": True,
            "conditions": [{"condition": "any-client", "configuration": {}}],
            "profiles": ["fapi-2-security-profile"],
        }
    ]
}

_NO_PERMISSIONS: Final = (
    "fine-grained permissions of administrators are not evaluated: roles alone decide"
)
_REFUSED_FIELDS: Final = (
    refused(
        *(_FIELD, "adminPermissionsEnabled", _NO_PERMISSIONS),
        refuses=is_true,
        sample=True,
        allowed="false",
    ),
    refused(
        *(_FIELD, "clientPolicies"),
        "client policies are not applied yet: clients and requests would not be checked",
        refuses=bool,
        sample=_POLICY,
        allowed="no enabled policy whose profiles demand something of clients or requests",
    ),
)
_STORED_FIELDS: Final = tuple(
    row
    for reason, names in WAITING.items()
    for row in stored(_FIELD, f"Waits for {reason}", *names)
    if row.name not in {refused_row.name for refused_row in _REFUSED_FIELDS}
)
_WORKING_FIELDS: Final = (
    *works(_FIELD, "tests/http/test_admin_realms.py", "id", "realm", "enabled"),
    *works(_FIELD, "tests/http/test_admin_realms.py", "attributes", "defaultSignatureAlgorithm"),
    *works(_FIELD, "tests/http/test_token_guards.py", "notBefore"),
    *works(_FIELD, "tests/http/test_refresh_grant.py", "revokeRefreshToken"),
    *works(_FIELD, "tests/http/test_refresh_grant.py", "refreshTokenMaxReuse"),
    *works(_FIELD, _SESSIONS, "accessTokenLifespan", "ssoSessionIdleTimeout"),
    *works(_FIELD, _SESSIONS, "ssoSessionMaxLifespan", "ssoSessionIdleTimeoutRememberMe"),
    *works(_FIELD, _SESSIONS, "ssoSessionMaxLifespanRememberMe", "offlineSessionIdleTimeout"),
    *works(_FIELD, _SESSIONS, "offlineSessionMaxLifespanEnabled", "offlineSessionMaxLifespan"),
    *works(_FIELD, _SESSIONS, "clientSessionIdleTimeout", "clientSessionMaxLifespan"),
    *works(_FIELD, _SESSIONS, "clientOfflineSessionIdleTimeout", "clientOfflineSessionMaxLifespan"),
    *works(_FIELD, "tests/unit/protocol/test_realm_checks.py", "sslRequired"),
    *works(_FIELD, _CHANGES, "registrationEmailAsUsername", "loginWithEmailAllowed"),
    *works(_FIELD, _CHANGES, "duplicateEmailsAllowed", "editUsernameAllowed"),
    *works(_FIELD, "tests/http/test_flows_in_use.py", "verifyEmail", "directGrantFlow"),
    *works(_FIELD, "tests/http/test_flows_in_use.py", "clientAuthenticationFlow"),
    *works(_FIELD, _GUARD, "bruteForceProtected", "permanentLockout", "maxTemporaryLockouts"),
    *works(_FIELD, _GUARD, "bruteForceStrategy", "maxFailureWaitSeconds", "waitIncrementSeconds"),
    *works(_FIELD, _GUARD, "minimumQuickLoginWaitSeconds", "quickLoginCheckMilliSeconds"),
    *works(_FIELD, _GUARD, "maxDeltaTimeSeconds", "failureFactor", "maxSecondaryAuthFailures"),
    *works(_FIELD, "tests/http/test_admin_roles.py", "defaultRole"),
    *works(
        *(_FIELD, "tests/contract/test_new_passwords.py", "passwordPolicy"),
        note="`maxAuthAge` and `recoveryCodesWarningThreshold` wait for pages",
    ),
    *works(_FIELD, _CODES, "otpPolicyLookAheadWindow", "otpPolicyCodeReusable"),
    *works(_FIELD, "tests/http/test_security_headers.py", "browserSecurityHeaders"),
    *works(_FIELD, _EVENTS, "eventsEnabled", "eventsExpiration", "eventsListeners"),
    *works(_FIELD, _EVENTS, "enabledEventTypes", "adminEventsEnabled", "adminEventsDetailsEnabled"),
    *works(_FIELD, "tests/http/test_admin_localization.py", "defaultLocale"),
    *works(_FIELD, "tests/http/test_admin_user_profile.py", "internationalizationEnabled"),
)
REALM_FIELD_ROWS: Final = (*_WORKING_FIELDS, *_REFUSED_FIELDS, *_STORED_FIELDS)

_EFFECTS_OF_FIELDS: Final = {row.name: row.effect for row in REALM_FIELD_ROWS}
_NOT_BY_ATTRIBUTE: Final = "it is read from the field of the realm and not from the attribute"
REALM_ATTRIBUTE_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(_ATTRIBUTE, "tests/http/test_admin_client_sessions.py", "userProfileEnabled"),
    *works(_ATTRIBUTE, "tests/contract/test_event_expiration.py", "adminEventsExpiration"),
    *(
        SettingRow(
            place=_ATTRIBUTE,
            name=name,
            effect=_EFFECTS_OF_FIELDS[field],
            note=f"The same as `{field}`",
            test="tests/http/test_setting_effects.py",
        )
        for name, field in MIRRORED.items()
        if _EFFECTS_OF_FIELDS[field] is not Effect.REFUSED
    ),
    refused(
        *(_ATTRIBUTE, "adminPermissionsEnabled", _NO_PERMISSIONS),
        refuses=is_true,
        sample="true",
        allowed='"false" or nothing',
    ),
    refused(
        *(_ATTRIBUTE, "frontendUrl"),
        "the issuer and every link begin with REALMGATE_PUBLIC_URL, for all realms",
        refuses=is_given,
        sample="https://login.example.com",
        allowed="nothing",
    ),
    *(
        refused(
            *(_ATTRIBUTE, name, _NOT_BY_ATTRIBUTE),
            refuses=is_given,
            sample="x",
            allowed=f"nothing, or what {field} says",
        )
        for name, field in (
            ("_browser_header.*", "browserSecurityHeaders"),
            ("client-policies.profiles", "clientProfiles"),
            ("client-policies.policies", "clientPolicies"),
        )
    ),
    *stored(_ATTRIBUTE, "Names levels; no level is enforced", "acr.loa.map", "acr.uri.map"),
    *stored(
        *(_ATTRIBUTE, "The grant does not exist: the token endpoint refuses it"),
        *("cibaBackchannelTokenDeliveryMode", "cibaExpiresIn", "cibaInterval"),
        *("cibaAuthRequestedUserHint", "shortVerificationUri"),
    ),
    *stored(
        *(_ATTRIBUTE, "There is no endpoint of pushed authorization requests"),
        "parRequestUriLifespan",
    ),
    *stored(_ATTRIBUTE, "Waits for mail", "actionTokenGeneratedByUserLifespan.*"),
    *stored(_ATTRIBUTE, "Display only", "displayName", "displayNameHtml", "darkMode"),
    *stored(_ATTRIBUTE, "Waits for pages", "welcomeTheme", "firstBrokerLoginFlowId"),
    *stored(_ATTRIBUTE, "Waits for WebAuthn", "webAuthnPolicy*"),
    *stored(_ATTRIBUTE, "There is no stream of security events", "ssf.*"),
    *stored(_ATTRIBUTE, "SAML is not part of this product", "saml.*"),
    *stored(
        *(_ATTRIBUTE, "There is no endpoint of verifiable credentials"),
        *("oid4vci.*", "vc.*", "credentialOfferLifespanS", "preAuthorizedCodeLifespanS"),
    ),
    *stored(_ATTRIBUTE, "Types are names only", "client-types"),
)
