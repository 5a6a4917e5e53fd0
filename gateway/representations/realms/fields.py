"""The table of a realm's settings: JSON name, shape, and where it stands in the domain.

The order is that of Keycloak's answer. Keycloak: RealmRepresentation, creation defaults
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final

from gateway.domain.keys import ALGORITHMS_OF_CLIENTS
from gateway.domain.realm import BruteForceStrategy, OtpAlgorithm, OtpType, SslRequired
from gateway.representations.field_table import Setting, StoredOnly
from gateway.representations.realms.special_fields import (
    DefaultRole,
    PasswordPolicyText,
    SecurityHeadersMap,
    SmtpMap,
)
from gateway.representations.shapes import (
    Choice,
    ChoiceOrNull,
    Count,
    Duration,
    DurationOrNull,
    Flag,
    ObjectId,
    OneOfOrNull,
    OptionalChoice,
    Shape,
    Text,
    TextList,
    TextMap,
    TextOrNull,
    UrlName,
    VerbatimList,
    VerbatimObject,
)

_NAME = Text(most=255)
_FILLED = TextOrNull(most=255)
_LONGEST_WINDOW = 100
_DAY = 86_400
_PASSWORDLESS: Final = "web_authn_passwordless"


class _TextsOrNull(TextList):
    """A list of texts; the empty one is null."""

    empty_types: ClassVar[tuple[type, ...]] = (list,)


@dataclass(frozen=True, slots=True)
class ClientRules(VerbatimObject):
    """Client profiles or policies: an object with one list. An empty value of another type is null.

    Keycloak decodes the member by itself, and passes over what is no object.
    """

    member: str
    empty_is_null: ClassVar[bool] = True
    zero_is_null: ClassVar[bool] = True
    empty_types: ClassVar[tuple[type, ...]] = (list,)

    def read(self, value: Any, path: str) -> dict[str, Any]:
        return VerbatimObject.read(self, value, path) or {self.member: []}


def _token(name: str, attribute: str) -> Setting:
    return Setting(name, attribute, Duration(), group="token_lifespans")


def _session(name: str, attribute: str, shape: Shape) -> Setting:
    return Setting(name, attribute, shape, group="session_limits")


def _login(name: str, attribute: str) -> Setting:
    return Setting(name, attribute, Flag(), group="login")


def _guard(name: str, attribute: str, shape: Shape) -> Setting:
    return Setting(name, attribute, shape, group="brute_force")


def _otp(name: str, attribute: str, shape: Shape) -> Setting:
    return Setting(name, attribute, shape, group="otp_policy")


def _flow(name: str, attribute: str) -> Setting:
    return Setting(name, attribute, Text(least=1, most=255), group="flows", public=True)


def _events(name: str, attribute: str, shape: Shape, *, omit_empty: bool = False) -> Setting:
    return Setting(name, attribute, shape, omit_empty, public=True, group="events")


def _web_authn(group: str, kind: str = "") -> tuple[Setting, ...]:
    def policy(name: str, attribute: str, shape: Shape, *, public: bool = True) -> Setting:
        field = f"webAuthnPolicy{kind}{name}"
        return Setting(field, attribute, shape, public=public, group=group)

    return (
        policy("RpEntityName", "entity_name", _FILLED),
        policy("SignatureAlgorithms", "signature_algorithms", _TextsOrNull()),
        policy("RpId", "rp_id", _NAME),
        policy("AttestationConveyancePreference", "attestation", _FILLED),
        policy("AuthenticatorAttachment", "attachment", _FILLED),
        policy("RequireResidentKey", "require_resident_key", _FILLED),
        policy("ResidentKey", "resident_key", _FILLED),
        policy("UserVerificationRequirement", "user_verification", _FILLED),
        policy("CreateTimeout", "create_timeout", Duration(), public=False),
        policy("AvoidSameAuthenticatorRegister", "avoid_same_authenticator", Flag(), public=False),
        policy("AcceptableAaguids", "acceptable_aaguids", TextList()),
        policy("ExtraOrigins", "extra_origins", TextList()),
    )


_ALGORITHM: Final = OptionalChoice(ALGORITHMS_OF_CLIENTS)
"""Terraform sends the empty text for the default."""

REALM_FIELDS: Final[tuple[Setting | StoredOnly, ...]] = (
    Setting("id", "id", ObjectId(), public=True),
    Setting("realm", "name", UrlName(), public=True),
    Setting("displayName", "display_name", _NAME, public=True),
    Setting("displayNameHtml", "display_name_html", Text(), public=True),
    Setting("notBefore", "not_before", Count(unit="seconds since 1970")),
    Setting("defaultSignatureAlgorithm", "default_signature_algorithm", _ALGORITHM),
    Setting("revokeRefreshToken", "revoke_on_use", Flag(), group="refresh_tokens"),
    Setting("refreshTokenMaxReuse", "max_reuse", Count(), group="refresh_tokens"),
    _token("accessTokenLifespan", "access_token"),
    _token("accessTokenLifespanForImplicitFlow", "access_token_for_implicit_flow"),
    _session("ssoSessionIdleTimeout", "idle", Duration()),
    _session("ssoSessionMaxLifespan", "max_lifespan", Duration()),
    _session("ssoSessionIdleTimeoutRememberMe", "idle_remember_me", Duration()),
    _session("ssoSessionMaxLifespanRememberMe", "max_lifespan_remember_me", Duration()),
    _session("offlineSessionIdleTimeout", "offline_idle", Duration()),
    _session("offlineSessionMaxLifespanEnabled", "offline_max_lifespan_enabled", Flag()),
    _session("offlineSessionMaxLifespan", "offline_max_lifespan", Duration()),
    _session("clientSessionIdleTimeout", "client_idle", Duration()),
    _session("clientSessionMaxLifespan", "client_max_lifespan", Duration()),
    _session("clientOfflineSessionIdleTimeout", "client_offline_idle", Duration()),
    _session("clientOfflineSessionMaxLifespan", "client_offline_max_lifespan", Duration()),
    _token("accessCodeLifespan", "access_code"),
    _token("accessCodeLifespanUserAction", "access_code_user_action"),
    _token("accessCodeLifespanLogin", "access_code_login"),
    _token("actionTokenGeneratedByAdminLifespan", "action_token_by_admin"),
    _token("actionTokenGeneratedByUserLifespan", "action_token_by_user"),
    _token("oauth2DeviceCodeLifespan", "device_code"),
    _token("oauth2DevicePollingInterval", "device_polling_interval"),
    Setting("enabled", "enabled", Flag()),
    Setting("sslRequired", "ssl_required", Choice(SslRequired, any_case=True)),
    _login("registrationAllowed", "registration_allowed"),
    _login("registrationEmailAsUsername", "registration_email_as_username"),
    _login("rememberMe", "remember_me"),
    _login("verifyEmail", "verify_email"),
    _login("loginWithEmailAllowed", "login_with_email_allowed"),
    _login("duplicateEmailsAllowed", "duplicate_emails_allowed"),
    _login("resetPasswordAllowed", "reset_password_allowed"),
    _login("editUsernameAllowed", "edit_username_allowed"),
    _guard("bruteForceProtected", "protected", Flag()),
    _guard("permanentLockout", "permanent_lockout", Flag()),
    _guard("maxTemporaryLockouts", "max_temporary_lockouts", Count()),
    _guard("bruteForceStrategy", "strategy", Choice(BruteForceStrategy, by_number=True)),
    _guard("maxFailureWaitSeconds", "max_failure_wait", Duration()),
    _guard("minimumQuickLoginWaitSeconds", "minimum_quick_login_wait", Duration()),
    _guard("waitIncrementSeconds", "wait_increment", Duration()),
    _guard(
        "quickLoginCheckMilliSeconds", "quick_login_check", Duration(unit=timedelta(milliseconds=1))
    ),
    _guard("maxDeltaTimeSeconds", "max_delta_time", Duration()),
    _guard("failureFactor", "failure_factor", Count()),
    _guard("maxSecondaryAuthFailures", "max_secondary_failures", Count()),
    Setting("defaultRole", "default_role", DefaultRole(), omit_empty=True),
    StoredOnly("requiredCredentials", ["password"], VerbatimList(), public=True),
    Setting(
        "passwordPolicy", "password_policy", PasswordPolicyText(), omit_empty=True, public=True
    ),
    _otp("otpPolicyType", "type", OptionalChoice(OtpType)),
    _otp("otpPolicyAlgorithm", "algorithm", ChoiceOrNull(OtpAlgorithm)),
    _otp("otpPolicyInitialCounter", "initial_counter", Count()),
    _otp("otpPolicyDigits", "digits", OneOfOrNull((6, 8))),
    _otp("otpPolicyLookAheadWindow", "look_ahead_window", Count(most=_LONGEST_WINDOW)),
    _otp("otpPolicyPeriod", "period", DurationOrNull(least=1, most=_DAY)),
    _otp("otpPolicyCodeReusable", "code_reusable", Flag()),
    *_web_authn("web_authn"),
    *_web_authn(_PASSWORDLESS, "Passwordless"),
    Setting(
        "webAuthnPolicyPasswordlessPasskeysEnabled", "passkeys_enabled", Flag(), group=_PASSWORDLESS
    ),
    Setting(
        *("webAuthnPolicyPasswordlessMediation", "mediation", _FILLED),
        public=True,
        group=_PASSWORDLESS,
    ),
    Setting("browserSecurityHeaders", "security_headers", SecurityHeadersMap()),
    Setting("smtpServer", "smtp", SmtpMap()),
    Setting("loginTheme", "login_theme", _NAME, public=True),
    Setting("accountTheme", "account_theme", _NAME, public=True),
    StoredOnly("adminTheme", None, _NAME, public=True),
    Setting("emailTheme", "email_theme", _NAME, public=True),
    _events("eventsEnabled", "enabled", Flag()),
    _events("eventsExpiration", "expiration", Duration(), omit_empty=True),
    _events("eventsListeners", "listeners", TextList()),
    _events("enabledEventTypes", "enabled_types", TextList()),
    _events("adminEventsEnabled", "admin_enabled", Flag()),
    _events("adminEventsDetailsEnabled", "admin_details_enabled", Flag()),
    Setting("internationalizationEnabled", "enabled", Flag(), group="localization"),
    Setting(
        *("supportedLocales", "supported_locales", TextList()),
        omit_empty=True,
        public=True,
        group="localization",
    ),
    Setting("defaultLocale", "default_locale", _NAME, public=True, group="localization"),
    _flow("browserFlow", "browser"),
    _flow("registrationFlow", "registration"),
    _flow("directGrantFlow", "direct_grant"),
    _flow("resetCredentialsFlow", "reset_credentials"),
    _flow("clientAuthenticationFlow", "client_authentication"),
    _flow("dockerAuthenticationFlow", "docker_authentication"),
    _flow("firstBrokerLoginFlow", "first_broker_login"),
    Setting("attributes", "attributes", TextMap()),
    StoredOnly("userManagedAccessAllowed", default=False, shape=Flag()),
    StoredOnly("organizationsEnabled", default=False, shape=Flag()),
    StoredOnly("verifiableCredentialsEnabled", default=False, shape=Flag()),
    StoredOnly("adminPermissionsEnabled", default=False, shape=Flag()),
    StoredOnly("scimApiEnabled", default=False, shape=Flag()),
    StoredOnly("clientProfiles", {"profiles": []}, ClientRules("profiles")),
    StoredOnly("clientPolicies", {"policies": []}, ClientRules("policies")),
)
"""Every setting that is answered, in the order of the answer."""

STORED_SWITCHES: Final = tuple(
    field.name
    for field in REALM_FIELDS
    if isinstance(field, StoredOnly) and isinstance(field.shape, Flag)
)
"""Switches that are stored, and switch nothing on."""

WEB_AUTHN_POLICIES: Final = tuple(
    tuple(
        field.name
        for field in REALM_FIELDS
        if field.name.startswith("webAuthnPolicy")
        and field.name.startswith("webAuthnPolicyPasswordless") is passwordless
    )
    for passwordless in (False, True)
)
"""The fields of both WebAuthn policies, the name of the relying party first."""

COMPUTED: Final[Mapping[str, Shape]] = {
    "keycloakVersion": Text(),
    "otpSupportedApplications": VerbatimList(),
}
"""Answered from other facts; accepted and ignored."""

IMPORTED: Final = frozenset(
    {
        *("authenticationFlows", "authenticatorConfig", "clientScopeMappings", "clientScopes"),
        *("clients", "defaultDefaultClientScopes", "defaultGroups", "defaultRoles"),
        *(
            "defaultOptionalClientScopes",
            "groups",
            "certificateAuthorities",
            "guardSites",
            "localizationTexts",
            "requiredActions",
        ),
        *("roles", "scopeMappings", "users"),
    }
)
"""Resources that a realm file carries beside the settings, and that an import reads."""

UNREAD: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(
        (
            *("applications", "clientTemplates", "federatedUsers"),
            *("identityProviderMappers", "identityProviders", "oauthClients", "organizations"),
            *("protocolMappers", "userFederationMappers", "userFederationProviders"),
        ),
        VerbatimList(),
    ),
    **dict.fromkeys(
        ("adminPermissionsClient", "applicationScopeMappings", "socialProviders"), VerbatimObject()
    ),
    **dict.fromkeys(
        ("social", "updateProfileOnInitialSocialLogin", "passwordCredentialGrantAllowed"), Flag()
    ),
    **dict.fromkeys(("certificate", "codeSecret", "privateKey", "publicKey"), Text(most=100_000)),
}
"""Fields of a realm of which only the type is checked."""
RESOURCES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(
        (
            *("authenticationFlows", "authenticatorConfig", "clientScopes", "clients"),
            *("defaultDefaultClientScopes", "defaultOptionalClientScopes", "defaultRoles"),
            *("groups", "certificateAuthorities", "guardSites", "requiredActions"),
            *("scopeMappings", "users"),
        ),
        VerbatimList(),
    ),
    **dict.fromkeys(
        ("clientScopeMappings", "components", "defaultRole", "localizationTexts", "roles"),
        VerbatimObject(),
    ),
}
"""Fields that an update of a realm does not read; only their type is checked."""
NOT_IMPORTED: Final = frozenset(
    {"components", "parsedClientPolicies", "parsedClientProfiles", *UNREAD}
)
"""Resources that Keycloak reads from a realm file and this version does not; imports report them.

Of `components`, imports read keys, client registration policies and the user profile. None of these
resources is kept with the realm: some hold secrets, which nothing would seal.
"""
