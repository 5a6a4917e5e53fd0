"""Settings and attributes of realms. Keycloak: RealmRepresentation, RealmAttributes (26.7).

A test compares the fields that wait for something with what the rules read.
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.realm import ACCENT_COLOR, DARK_LOGO, LOGO, is_color, is_image
from gateway.representations.setting_effects.realm_attributes import MIRRORED
from gateway.representations.setting_effects.rows import (
    Effect,
    Place,
    SettingRow,
    is_given,
    is_true,
    refused,
    refused_flag,
    refused_text,
    stored,
    works,
)

_FIELD: Final = Place.REALM_FIELD
_ATTRIBUTE: Final = Place.REALM_ATTRIBUTE
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
_WEB_AUTHN: Final = (
    "RpEntityName SignatureAlgorithms RpId AttestationConveyancePreference"
    " AuthenticatorAttachment RequireResidentKey ResidentKey UserVerificationRequirement"
    " CreateTimeout AvoidSameAuthenticatorRegister AcceptableAaguids ExtraOrigins"
)
_WAITING: Final[Mapping[str, str]] = {
    "pages": "displayNameHtml registrationAllowed resetPasswordAllowed"
    " accountTheme adminTheme emailTheme"
    " registrationFlow resetCredentialsFlow",
    "WebAuthn": "webAuthnPolicyPasswordlessPasskeysEnabled webAuthnPolicyPasswordlessMediation "
    + " ".join(f"webAuthnPolicy{n} webAuthnPolicyPasswordless{n}" for n in _WEB_AUTHN.split()),
    "client policies other than the executor `secret-rotation`": "clientProfiles clientPolicies",
    "nothing: it is not part of this product": "requiredCredentials dockerAuthenticationFlow"
    " firstBrokerLoginFlow userManagedAccessAllowed organizationsEnabled"
    " verifiableCredentialsEnabled adminPermissionsEnabled scimApiEnabled",
}
WAITING: Final = {reason: tuple(names.split()) for reason, names in _WAITING.items()}
"""Fields that are stored and returned, and have no effect yet, by what they wait for."""

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
_REFUSED_NAMES: Final = frozenset(row.name for row in _REFUSED_FIELDS)
REALM_FIELD_ROWS: Final = (
    *works(
        _FIELD,
        {
            "tests/http/test_admin_realms.py": "id realm enabled attributes"
            " defaultSignatureAlgorithm",
            "tests/http/test_token_guards.py": "notBefore",
            "tests/http/test_device_grant.py": "oauth2DeviceCodeLifespan"
            " oauth2DevicePollingInterval",
            "tests/http/test_refresh_grant.py": "revokeRefreshToken refreshTokenMaxReuse",
            "tests/spec/test_refresh_and_sessions.py": "accessTokenLifespan ssoSessionIdleTimeout"
            " ssoSessionMaxLifespan ssoSessionIdleTimeoutRememberMe ssoSessionMaxLifespanRememberMe"
            " offlineSessionIdleTimeout offlineSessionMaxLifespanEnabled offlineSessionMaxLifespan"
            " clientSessionIdleTimeout clientSessionMaxLifespan clientOfflineSessionIdleTimeout"
            " clientOfflineSessionMaxLifespan",
            "tests/unit/protocol/test_realm_checks.py": "sslRequired",
            "tests/http/test_admin_user_changes.py": "registrationEmailAsUsername"
            " loginWithEmailAllowed duplicateEmailsAllowed editUsernameAllowed",
            "tests/http/test_flows_in_use.py": "verifyEmail directGrantFlow"
            " clientAuthenticationFlow",
            "tests/contract/test_resumable_sign_in.py": "rememberMe browserFlow"
            " accessCodeLifespanLogin",
            "tests/contract/test_authentication_sessions.py": "accessCodeLifespanUserAction",
            "tests/spec/test_brute_force_guard.py": "bruteForceProtected permanentLockout"
            " maxTemporaryLockouts bruteForceStrategy maxFailureWaitSeconds waitIncrementSeconds"
            " minimumQuickLoginWaitSeconds quickLoginCheckMilliSeconds maxDeltaTimeSeconds"
            " failureFactor maxSecondaryAuthFailures",
            "tests/http/test_browser_sessions.py": "accessTokenLifespanForImplicitFlow",
            "tests/http/test_authorization_code_grant.py": "accessCodeLifespan",
            "tests/http/test_admin_roles.py": "defaultRole",
            "tests/contract/test_new_passwords.py": "passwordPolicy",
            "tests/http/test_required_actions.py": "otpPolicyType otpPolicyAlgorithm"
            " otpPolicyDigits otpPolicyPeriod otpPolicyInitialCounter",
            "tests/contract/test_one_time_password_login.py": "otpPolicyLookAheadWindow"
            " otpPolicyCodeReusable",
            "tests/http/test_security_headers.py": "browserSecurityHeaders",
            "tests/http/test_admin_events.py": "eventsEnabled eventsExpiration eventsListeners"
            " enabledEventTypes adminEventsEnabled adminEventsDetailsEnabled",
            "tests/http/test_admin_localization.py": "defaultLocale",
            "tests/unit/http/pages/test_locale_selection.py": "supportedLocales",
            "tests/unit/http/pages/test_themes.py": "loginTheme",
            "tests/unit/http/pages/test_pages.py": "displayName",
            "tests/http/test_admin_user_profile.py": "internationalizationEnabled",
            "tests/http/test_admin_mail.py": "smtpServer",
            "tests/http/test_action_tokens.py": "actionTokenGeneratedByAdminLifespan",
            "tests/http/test_verify_email.py": "actionTokenGeneratedByUserLifespan",
        },
    ),
    *_REFUSED_FIELDS,
    *(
        row
        for row in stored(_FIELD, {f"Waits for {why}": names for why, names in _WAITING.items()})
        if row.name not in _REFUSED_NAMES
    ),
)

_EFFECTS_OF_FIELDS: Final = {row.name: row.effect for row in REALM_FIELD_ROWS}
_NOT_BY_ATTRIBUTE: Final = "it is read from the field of the realm and not from the attribute"
REALM_ATTRIBUTE_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(
        _ATTRIBUTE,
        {
            "tests/http/test_admin_client_sessions.py": "userProfileEnabled",
            "tests/contract/test_event_expiration.py": "adminEventsExpiration",
            "tests/unit/http/pages/test_pages.py": "darkMode",
            "tests/http/test_pushed_authorization_requests.py": "parRequestUriLifespan",
            "tests/http/test_browser_sessions.py": "acr.loa.map",
            "tests/http/test_verify_email.py": "actionTokenGeneratedByUserLifespan.*",
        },
    ),
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
    refused_flag(_ATTRIBUTE, "adminPermissionsEnabled", _NO_PERMISSIONS),
    refused_text(
        *(_ATTRIBUTE, "frontendUrl"),
        "the issuer and every link begin with REALMGATE_PUBLIC_URL, for all realms",
        "https://login.example.com",
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
    refused(
        *(_ATTRIBUTE, ACCENT_COLOR, "a page could not use it as a color"),
        refuses=lambda value: bool(value) and not is_color(str(value)),
        sample="red",
        allowed="#rrggbb, #rgb or nothing",
    ),
    *(
        refused(
            *(_ATTRIBUTE, name, "a page would not load it"),
            refuses=lambda value: bool(value) and not is_image(str(value)),
            sample="http://example.com/logo.png",
            allowed="an https URL, a path of this origin, data:image/...;base64 or nothing",
        )
        for name in (LOGO, DARK_LOGO)
    ),
    *stored(
        _ATTRIBUTE,
        {
            "Names levels by addresses; none is read": "acr.uri.map",
            "The grant does not exist: the token endpoint refuses it": (
                "cibaBackchannelTokenDeliveryMode cibaExpiresIn cibaInterval"
                " cibaAuthRequestedUserHint shortVerificationUri"
            ),
            "Display only": "displayName displayNameHtml",
            "Waits for pages": "welcomeTheme firstBrokerLoginFlowId",
            "Waits for WebAuthn": "webAuthnPolicy*",
            "There is no stream of security events": "ssf.*",
            "SAML is not part of this product": "saml.*",
            "There is no endpoint of verifiable credentials": (
                "oid4vci.* vc.* credentialOfferLifespanS preAuthorizedCodeLifespanS"
            ),
            "Types are names only": "client-types",
        },
    ),
)
