"""Which members of realms and clients, and which attributes, decide how accounts are proven.

An attribute that nothing reads needs no line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_OWN_ATTRIBUTES: Final = "realmgate."
Reasons = Mapping[str, str]
"""Names with spaces between them, by the reason."""


@dataclass(frozen=True, slots=True)
class ProofList:
    """Names of one kind with the reason for their place.

    A name that ends with `*` covers every name with that beginning; an exact name comes first.
    """

    proving: Mapping[str, str]
    harmless: Mapping[str, str]

    def proves(self, name: str) -> bool | None:
        """Return whether the setting decides how accounts are proven; None if it is not listed."""
        for listed, verdict in ((self.proving, True), (self.harmless, False)):
            if name in listed:
                return verdict
        for listed, verdict in ((self.proving, True), (self.harmless, False)):
            if any(each.endswith("*") and name.startswith(each[:-1]) for each in listed):
                return verdict
        return None


def _listed(*, proving: Reasons, harmless: Reasons) -> ProofList:
    return ProofList(_by_name(proving), _by_name(harmless))


def _by_name(reasons: Reasons) -> dict[str, str]:
    found: dict[str, str] = {}
    for reason, names in reasons.items():
        for name in names.split():
            if found.setdefault(name, reason) is not reason:
                raise ValueError(f"{name} is listed twice")
    return found


REALM_MEMBERS: Final = _listed(
    proving={
        "the issuer that services trust": "realm",
        "whether passwords and tokens travel encrypted": "sslRequired",
        "an account is found by another name or address": (
            "registrationEmailAsUsername loginWithEmailAllowed duplicateEmailsAllowed"
            " editUsernameAllowed"
        ),
        "an address counts without proof": "verifyEmail",
        "a mailed link replaces a password": "resetPasswordAllowed",
        "receives mailed links": "smtpServer",
        "texts of mails with links, and of sign-in pages": "localizationTexts",
        "how many guesses a password or code allows": (
            "bruteForceProtected permanentLockout maxTemporaryLockouts bruteForceStrategy"
            " maxFailureWaitSeconds minimumQuickLoginWaitSeconds waitIncrementSeconds"
            " quickLoginCheckMilliSeconds maxDeltaTimeSeconds failureFactor"
            " maxSecondaryAuthFailures"
        ),
        "what a password must be, and how it is stored": "passwordPolicy",
        "which codes are accepted": (
            "otpPolicyType otpPolicyAlgorithm otpPolicyInitialCounter otpPolicyDigits"
            " otpPolicyLookAheadWindow otpPolicyPeriod otpPolicyCodeReusable"
        ),
        "which security keys and passkeys are accepted, and for which sites": (
            "webAuthnPolicySignatureAlgorithms webAuthnPolicyRpId webAuthnPolicyExtraOrigins"
            " webAuthnPolicyAttestationConveyancePreference webAuthnPolicyAuthenticatorAttachment"
            " webAuthnPolicyRequireResidentKey webAuthnPolicyResidentKey"
            " webAuthnPolicyUserVerificationRequirement webAuthnPolicyAcceptableAaguids"
            " webAuthnPolicyPasswordlessSignatureAlgorithms webAuthnPolicyPasswordlessRpId"
            " webAuthnPolicyPasswordlessExtraOrigins"
            " webAuthnPolicyPasswordlessAttestationConveyancePreference"
            " webAuthnPolicyPasswordlessAuthenticatorAttachment"
            " webAuthnPolicyPasswordlessRequireResidentKey"
            " webAuthnPolicyPasswordlessResidentKey"
            " webAuthnPolicyPasswordlessUserVerificationRequirement"
            " webAuthnPolicyPasswordlessAcceptableAaguids webAuthnPolicyPasswordlessPasskeysEnabled"
        ),
        "protects the pages where users prove who they are": "browserSecurityHeaders",
        "the steps of a sign-in": (
            "browserFlow registrationFlow directGrantFlow resetCredentialsFlow"
            " clientAuthenticationFlow dockerAuthenticationFlow firstBrokerLoginFlow"
            " authenticationFlows authenticatorConfig requiredActions"
        ),
        "what clients must prove": "clientProfiles clientPolicies parsedClientProfiles"
        " parsedClientPolicies",
        "keys that sign tokens, the user profile, registration policies": (
            "components privateKey publicKey certificate codeSecret"
        ),
        "trust anchors of certificates": "certificateAuthorities",
        "other systems that prove accounts": (
            "identityProviders identityProviderMappers userFederationProviders"
            " userFederationMappers social socialProviders updateProfileOnInitialSocialLogin"
        ),
    },
    harmless={
        "never changes": "id keycloakVersion otpSupportedApplications",
        "shown as text": (
            "displayName displayNameHtml webAuthnPolicyRpEntityName"
            " webAuthnPolicyPasswordlessRpEntityName"
        ),
        "themes are installed by the operator": "loginTheme accountTheme adminTheme emailTheme",
        "languages whose texts are listed above": (
            "internationalizationEnabled supportedLocales defaultLocale"
        ),
        "the attributes are listed one by one": "attributes",
        "refuses more, or ends sessions; a lower notBefore is compared apart": "enabled notBefore",
        "the algorithms are all strong, the keys those of the realm": "defaultSignatureAlgorithm",
        "how long a proof lasts, not what it is": (
            "revokeRefreshToken refreshTokenMaxReuse accessTokenLifespan"
            " accessTokenLifespanForImplicitFlow ssoSessionIdleTimeout ssoSessionMaxLifespan"
            " ssoSessionIdleTimeoutRememberMe ssoSessionMaxLifespanRememberMe"
            " offlineSessionIdleTimeout offlineSessionMaxLifespanEnabled offlineSessionMaxLifespan"
            " clientSessionIdleTimeout clientSessionMaxLifespan clientOfflineSessionIdleTimeout"
            " clientOfflineSessionMaxLifespan accessCodeLifespan accessCodeLifespanUserAction"
            " accessCodeLifespanLogin actionTokenGeneratedByAdminLifespan"
            " actionTokenGeneratedByUserLifespan oauth2DeviceCodeLifespan"
            " oauth2DevicePollingInterval webAuthnPolicyCreateTimeout"
            " webAuthnPolicyPasswordlessCreateTimeout rememberMe"
        ),
        "a new account proves itself alone": "registrationAllowed",
        "how passkeys are offered": "webAuthnPolicyPasswordlessMediation",
        "refuses a second registration": (
            "webAuthnPolicyAvoidSameAuthenticatorRegister"
            " webAuthnPolicyPasswordlessAvoidSameAuthenticatorRegister"
        ),
        "events hold no secrets and no links": (
            "eventsEnabled eventsExpiration eventsListeners enabledEventTypes adminEventsEnabled"
            " adminEventsDetailsEnabled"
        ),
        "rights: the caller grants those that it has": (
            "defaultRole defaultRoles defaultGroups roles groups users federatedUsers"
            " scopeMappings clientScopeMappings applicationScopeMappings"
        ),
        "clients have rules of their own": (
            "clients applications oauthClients clientTemplates clientScopes"
            " defaultDefaultClientScopes defaultOptionalClientScopes protocolMappers"
        ),
        "who may enter a service, not who is who": "guardSites",
        "no effect": (
            "requiredCredentials userManagedAccessAllowed organizationsEnabled organizations"
            " verifiableCredentialsEnabled oid4VciEnabled adminPermissionsEnabled"
            " adminPermissionsClient scimApiEnabled passwordCredentialGrantAllowed"
            " userCacheEnabled realmCacheEnabled"
        ),
    },
)
"""Members of RealmRepresentation, those of Keycloak 26.7 and the gateway's own."""

REALM_ATTRIBUTES: Final = _listed(
    proving={
        "which certificates are trusted": (
            "realmgate.certificates.gatewayAuthorities realmgate.certificates.policies"
            " realmgate.certificates.crl.policy realmgate.certificates.crl.urls"
            " realmgate.certificates.crl.points realmgate.certificates.ocsp"
            " realmgate.certificates.ocsp.url realmgate.certificates.ocsp.scope"
            " realmgate.certificates.ocsp.nonce realmgate.certificates.renewal.overlap"
        ),
        "how many guesses an address has": "realmgate.bruteForce.failuresPerAddress",
        "how possession of a key is proven": "realmgate.dpop.nonce",
        "what a level of authentication is called": "acr.loa.map acr.uri.map",
        "whether the user profile has rules": "userProfileEnabled",
        "receives every event of the accounts": (
            "realmgate.webhook.url realmgate.webhook.secret realmgate.webhook.events"
        ),
        "where mailed links lead to": "frontendUrl",
        "another spelling of a member above": (
            "_browser_header.* client-policies.profiles client-policies.policies"
        ),
    },
    harmless={
        "shown, or loaded as an image": (
            "realmgate.login.accentColor realmgate.login.logo realmgate.login.logoDark darkMode"
            " displayName displayNameHtml welcomeTheme"
        ),
        "mails about ends of certificates, without links": (
            "realmgate.certificates.expiry.mail.recipients realmgate.certificates.expiry.mail.days"
        ),
        "how long something lasts": (
            "actionTokenGeneratedByUserLifespan.* adminEventsExpiration parRequestUriLifespan"
        ),
        "written from the member, which decides": "webAuthnPolicy*",
        "no effect": (
            "cibaBackchannelTokenDeliveryMode cibaExpiresIn cibaInterval"
            " cibaAuthRequestedUserHint shortVerificationUri firstBrokerLoginFlowId ssf.* saml.*"
            " oid4vci.* vc.* credentialOfferLifespanS preAuthorizedCodeLifespanS client-types"
        ),
    },
)
"""Attributes of realms. Those that repeat a member follow it: the member is written with them."""

CLIENT_MEMBERS: Final = _listed(
    proving={"the steps of a sign-in": "authenticationFlowBindingOverrides"},
    harmless={
        "proves the client alone: the rights of its service account are needed": (
            "id clientId clientAuthenticatorType secret attributes publicClient bearerOnly enabled"
            " serviceAccountsEnabled surrogateAuthRequired registrationAccessToken"
        ),
        "shown, or where a browser goes": (
            "name description type rootUrl adminUrl baseUrl alwaysDisplayInConsole redirectUris"
            " webOrigins frontchannelLogout origin"
        ),
        "which tokens the client gets, and with what": (
            "consentRequired standardFlowEnabled implicitFlowEnabled directAccessGrantsEnabled"
            " directGrantsOnly protocol fullScopeAllowed protocolMappers defaultClientScopes"
            " optionalClientScopes clientTemplate useTemplateConfig useTemplateScope"
            " useTemplateMappers defaultRoles"
        ),
        "refuses more": "notBefore",
        "no effect": (
            "authorizationServicesEnabled authorizationSettings nodeReRegistrationTimeout"
            " registeredNodes access"
        ),
    },
)
"""Members of ClientRepresentation."""


def member_proves(members: ProofList, name: str) -> bool:
    """Return whether a member decides how accounts are proven; one that is not listed does."""
    return members.proves(name) is not False


def attribute_proves(name: str) -> bool:
    """Return whether an attribute of a realm does; of those not listed, the gateway's own do."""
    verdict = REALM_ATTRIBUTES.proves(name)
    return name.startswith(_OWN_ATTRIBUTES) if verdict is None else verdict
