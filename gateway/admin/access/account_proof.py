"""The one list of everything that decides how accounts and clients are proven.

A caller who changes such a setting could then sign in as any account of the realm: by a certificate
of an own authority, a link in a mail, a flow that asks for less. So each change needs the rights of
all of them (`require_rights_of_realm_accounts`). A value that is sent again unchanged, masked or in
another spelling needs none: the old setting is compared with the new one.

Every member and every attribute of a realm that acts, every member of a client and every operation
of the admin API but GET stands in exactly one of the two parts of its list, with a reason of a few
words. A test fails for a name in neither, and an operation in neither stops the gateway. A new kind
of proof is one line. docs/decisions/0021-settings-that-prove-accounts.md
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gateway.admin.access.escalation import (
    has_every_right,
    require_rights_of_realm_accounts,
    require_rights_over_every_realm,
)
from gateway.admin.access.rights import Acting
from gateway.domain.clients import Client
from gateway.domain.realm import Realm
from gateway.representations.clients import render_client
from gateway.representations.realms import render_realm

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


_REALM_PATH: Final = "/admin/realms/{realm}"


@dataclass(frozen=True, slots=True)
class OperationList(ProofList):
    """Operations as `METHOD /path`, the path below the realm.

    `proving` gives what the operation changes. Those `of_settings` write the members and attributes
    of the other lists: their use cases compare what was with what will be.
    """

    of_settings: Mapping[str, str]


def _by_operation(reasons: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the reason by operation; `reasons` has the methods of each path."""
    return {
        f"{method} {path}": reason
        for reason, paths in reasons.items()
        for path, methods in paths.items()
        for method in methods.split()
    }


OPERATIONS: Final = OperationList(
    proving=_by_operation(
        {
            "the authorities of certificates": {
                "/certificates/authorities": "POST",
                "/certificates/authorities/{sha256}": "DELETE",
            },
            "removing a denied certificate": {"/certificates/denied/{id}": "DELETE"},
            "an authentication flow": {
                "/authentication/flows": "POST",
                "/authentication/flows/{id}": "PUT DELETE",
                "/authentication/flows/{alias}/copy": "POST",
                "/authentication/flows/{alias}/executions": "PUT",
                "/authentication/flows/{alias}/executions/execution": "POST",
                "/authentication/flows/{alias}/executions/flow": "POST",
                "/authentication/executions": "POST",
                "/authentication/executions/{id}": "DELETE",
                "/authentication/executions/{id}/raise-priority": "POST",
                "/authentication/executions/{id}/lower-priority": "POST",
            },
            "the configuration of an authenticator": {
                "/authentication/executions/{id}/config": "POST",
                "/authentication/config": "POST",
                "/authentication/config/{config}": "PUT DELETE",
            },
            "a required action": {
                "/authentication/register-required-action": "POST",
                "/authentication/required-actions/{alias}": "PUT DELETE",
                "/authentication/required-actions/{alias}/config": "PUT DELETE",
                "/authentication/required-actions/{alias}/raise-priority": "POST",
                "/authentication/required-actions/{alias}/lower-priority": "POST",
            },
            "a component (a key, the user profile or a registration policy)": {
                "/components": "POST",
                "/components/{id}": "PUT DELETE",
            },
            "the user profile": {"/users/profile": "PUT"},
            "a text of pages and mails": {
                "/localization/{locale}": "POST DELETE",
                "/localization/{locale}/{key}": "PUT DELETE",
            },
        }
    ),
    of_settings=_by_operation(
        {
            "the realm's members and attributes": {"/": "PUT"},
            "clientPolicies and clientProfiles": {
                "/client-policies/policies": "PUT",
                "/client-policies/profiles": "PUT",
            },
            "the members about events": {"/events/config": "PUT"},
            "the client's members": {"/clients": "POST", "/clients/{client_id}": "PUT"},
            "members of clients, users, groups and roles": {"/partialImport": "POST"},
        }
    ),
    harmless=_by_operation(
        {
            "a new realm has no accounts yet, and its creator all rights over it": {
                "/admin/realms": "POST",
            },
            "proves nothing any more": {"/": "DELETE"},
            "only reads, or drops what is cached": {
                "/testSMTPConnection": "POST",
                "/partial-export": "POST",
                "/certificates/explain": "POST",
                "/client-description-converter": "POST",
                "/clear-realm-cache": "POST",
                "/clear-user-cache": "POST",
                "/clear-keys-cache": "POST",
            },
            "refuses more": {"/certificates/denied": "POST"},
            "ends sessions and tokens": {
                "/logout-all": "POST",
                "/push-revocation": "POST",
                "/sessions/{session_id}": "DELETE",
                "/users/{user_id}/logout": "POST",
                "/users/{user_id}/consents/{client}": "DELETE",
                "/clients/{client_id}/push-revocation": "POST",
            },
            "needs the rights of the user": {
                "/users/{user_id}": "PUT DELETE",
                "/users/{user_id}/reset-password": "PUT",
                "/users/{user_id}/credentials/{credential_id}": "DELETE",
                "/users/{user_id}/credentials/{credential_id}/userLabel": "PUT",
                "/users/{user_id}/credentials/{credential_id}/moveToFirst": "POST",
                "/users/{user_id}/credentials/{credential_id}/moveAfter/{previous_id}": "POST",
                "/users/{user_id}/disable-credential-types": "PUT",
                "/users/{user_id}/execute-actions-email": "PUT",
                "/users/{user_id}/send-verify-email": "PUT",
                "/users/{user_id}/reset-password-email": "PUT",
                "/attack-detection/brute-force/users/{user_id}": "DELETE",
            },
            "skips users with more rights": {"/attack-detection/brute-force/users": "DELETE"},
            "a new account has no rights of others": {"/users": "POST"},
            "rights: the caller grants those that it has": {
                "/users/{user_id}/groups/{group_id}": "PUT DELETE",
                "/groups": "POST",
                "/groups/{group_id}": "PUT DELETE",
                "/groups/{group_id}/children": "POST",
                "/default-groups/{group_id}": "PUT DELETE",
                "/roles": "POST",
                "/roles/{role_name}": "PUT DELETE",
                "/roles/{role_name}/composites": "POST DELETE",
                "/roles-by-id/{role_id}": "PUT DELETE",
                "/roles-by-id/{role_id}/composites": "POST DELETE",
                "/clients/{client_id}/roles": "POST",
                "/clients/{client_id}/roles/{role_name}": "PUT DELETE",
                "/clients/{client_id}/roles/{role_name}/composites": "POST DELETE",
                "/users/{user_id}/role-mappings/realm": "POST DELETE",
                "/users/{user_id}/role-mappings/clients/{client_id}": "POST DELETE",
                "/groups/{group_id}/role-mappings/realm": "POST DELETE",
                "/groups/{group_id}/role-mappings/clients/{client_id}": "POST DELETE",
                "/clients/{client_id}/administrative-roles": "PUT",
            },
            "proves the client alone: the rights of its service account are needed": {
                "/clients/{client_id}": "DELETE",
                "/clients/{client_id}/client-secret": "POST",
                "/clients/{client_id}/client-secret/rotated": "DELETE",
                "/clients/{client_id}/registration-access-token": "POST",
                "/clients/{client_id}/certificates/{attr}/generate": "POST",
                "/clients/{client_id}/certificates/{attr}/generate-and-download": "POST",
                "/clients/{client_id}/certificates/{attr}/download": "POST",
                "/clients/{client_id}/certificates/{attr}/upload": "POST",
                "/clients/{client_id}/certificates/{attr}/upload-certificate": "POST",
                "/clients/{client_id}/certificates/authorities": "POST",
                "/clients/{client_id}/certificates/authorities/{sha256}": "DELETE",
                "/clients/{client_id}/device-locks": "POST DELETE",
                "/clients/{client_id}/nodes": "POST",
                "/clients/{client_id}/nodes/{node}": "DELETE",
            },
            "clients that it registers have no rights of others": {
                "/clients-initial-access": "POST",
                "/clients-initial-access/{access_id}": "DELETE",
            },
            "what tokens contain, not for whom they are": {
                "/client-scopes": "POST",
                "/client-scopes/{scope_id}": "PUT DELETE",
                "/client-scopes/{scope_id}/protocol-mappers/models": "POST",
                "/client-scopes/{scope_id}/protocol-mappers/add-models": "POST",
                "/client-scopes/{scope_id}/protocol-mappers/models/{mapper_id}": "PUT DELETE",
                "/client-scopes/{scope_id}/scope-mappings/realm": "POST DELETE",
                "/client-scopes/{scope_id}/scope-mappings/clients/{container}": "POST DELETE",
                "/default-default-client-scopes/{scope_id}": "PUT DELETE",
                "/default-optional-client-scopes/{scope_id}": "PUT DELETE",
                "/clients/{client_id}/default-client-scopes/{scope_id}": "PUT DELETE",
                "/clients/{client_id}/optional-client-scopes/{scope_id}": "PUT DELETE",
                "/clients/{client_id}/protocol-mappers/models": "POST",
                "/clients/{client_id}/protocol-mappers/add-models": "POST",
                "/clients/{client_id}/protocol-mappers/models/{mapper_id}": "PUT DELETE",
                "/clients/{client_id}/scope-mappings/realm": "POST DELETE",
                "/clients/{client_id}/scope-mappings/clients/{container}": "POST DELETE",
            },
            "who may enter a service, not who is who": {
                "/guard/sites": "POST",
                "/guard/sites/{site}": "PUT DELETE",
            },
            "removes records": {"/events": "DELETE", "/admin-events": "DELETE"},
        }
    ),
)
"""Operations of the admin API except GETs; an operation that is not supported is not listed."""


def operation_name(method: str, path: str) -> str:
    """Return how the list names an operation; `path` is the template of its URL."""
    return f"{method} {path.removeprefix(_REALM_PATH) or '/'}"


def proven_by_operation(method: str, path: str) -> str | None:
    """Return what an operation changes that proves accounts, None where its settings decide.

    Raises ValueError for an operation that is not listed.
    """
    name = operation_name(method, path)
    if name not in {**OPERATIONS.proving, **OPERATIONS.of_settings, **OPERATIONS.harmless}:
        raise ValueError(f"{name}: list it in account_proof.OPERATIONS")
    return OPERATIONS.proving.get(name)


_ATTRIBUTES: Final = "attributes"


def require_may_change_realm(acting: Acting, before: Realm, after: Realm, now: datetime) -> None:
    """Raise MissingRights for a changed setting that proves accounts, unless the caller has all.

    A disabled `master`, or one with a `notBefore` in the future, ends the access of the
    administrators of every realm.
    """
    if before == after or has_every_right(acting):
        return
    if before.enabled and not after.enabled:
        require_rights_over_every_realm(acting, "enabled")
    if after.not_before > max(before.not_before, now.timestamp()):
        require_rights_over_every_realm(acting, "notBefore")
    was, will_be = (render_realm(realm, masked=False) for realm in (before, after))
    changed = [name for name in _changed_names(was, will_be) if member_proves(REALM_MEMBERS, name)]
    attributes = _changed_names(was[_ATTRIBUTES], will_be[_ATTRIBUTES])
    changed += [f"{_ATTRIBUTES}.{name}" for name in attributes if attribute_proves(name)]
    if after.not_before < before.not_before:
        # Tokens and sessions of all accounts that were rejected would be accepted again.
        changed.append("a lower notBefore")
    if changed:
        require_rights_of_realm_accounts(acting, ", ".join(changed))


def require_may_change_client(acting: Acting, before: Client | None, after: Client) -> None:
    """Raise the same for a changed or, without `before`, a new client."""
    if has_every_right(acting):
        return
    known = before or Client(id=after.id, realm_id=after.realm_id, client_id=after.client_id)
    was, will_be = (render_client(client, masked=False) for client in (known, after))
    changed = [name for name in _changed_names(was, will_be) if member_proves(CLIENT_MEMBERS, name)]
    if changed:
        require_rights_of_realm_accounts(acting, ", ".join(changed))


def _changed_names(was: Mapping[str, Any], will_be: Mapping[str, Any]) -> list[str]:
    names: Iterable[str] = {**was, **will_be}
    return [name for name in names if was.get(name) != will_be.get(name)]
