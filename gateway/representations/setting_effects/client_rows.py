"""Settings of clients, client scopes and protocol mappers.

Keycloak: ClientRepresentation, OIDCConfigAttributes (26.7)
"""

from typing import Final

from gateway.representations.setting_effects.rows import (
    Effect,
    Place,
    SettingRow,
    refused_flag,
    stored,
    works,
)

_FIELD: Final = Place.CLIENT_FIELD
_ATTRIBUTE: Final = Place.CLIENT_ATTRIBUTE
_CLIENTS: Final = "tests/http/test_admin_clients.py"
_PUSHED: Final = "tests/http/test_pushed_authorization_requests.py"
_EFFECTS: Final = "tests/http/test_setting_effects.py"
_TOKENS: Final = "tests/http/test_token_endpoint.py"

_LOGOUT: Final = "tests/http/test_browser_logout.py"
_NOTICES: Final = "tests/system/test_logout_notices.py"
_DISPLAY: Final = "Display only"
_ENCRYPTED: Final = "tests/http/test_encrypted_tokens.py"
_WITHOUT_CONTENT: Final = "Without `.enc`: A128CBC-HS256. RSA1_5 is refused (RFC 8725 §3.2)"

CLIENT_FIELD_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(
        _FIELD,
        {
            _CLIENTS: "id clientId secret protocol attributes"
            " bearerOnly publicClient serviceAccountsEnabled",
            _TOKENS: "enabled",
            _EFFECTS: "clientAuthenticatorType",
            "tests/http/test_cross_origin.py": "webOrigins",
            "tests/http/test_own_sessions.py": "alwaysDisplayInConsole",
            "tests/http/test_token_guards.py": "notBefore",
            "tests/http/test_password_grant.py": "consentRequired directAccessGrantsEnabled",
            "tests/http/test_flows_in_use.py": "authenticationFlowBindingOverrides",
            "tests/http/test_admin_scope_mappings.py": "fullScopeAllowed",
            "tests/http/test_admin_protocol_mappers.py": "protocolMappers",
            "tests/http/test_admin_client_scopes.py": "defaultClientScopes optionalClientScopes",
            "tests/http/test_sign_in_pages.py": "name baseUrl",
            _LOGOUT: "frontchannelLogout",
            _PUSHED: "redirectUris rootUrl standardFlowEnabled implicitFlowEnabled",
        },
        {
            "clientAuthenticatorType": "federated-jwt clients cannot authenticate yet",
            "consentRequired": "Users are asked in a browser; the password grant is refused",
            "authenticationFlowBindingOverrides": "`browser` and `direct_grant`",
        },
    ),
    *stored(
        _FIELD,
        {
            _DISPLAY: "description type",
            "No request is sent there; clients are notified at `backchannel.logout.url`": (
                "adminUrl"
            ),
            "Keycloak does not read it either": "surrogateAuthRequired",
            "The UMA grant does not exist: no permission is ever granted": (
                "authorizationServicesEnabled"
            ),
            "Nodes are listed only": "nodeReRegistrationTimeout registeredNodes",
        },
    ),
)
CLIENT_ATTRIBUTE_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(
        _ATTRIBUTE,
        {
            "tests/spec/test_refresh_and_sessions.py": "access.token.lifespan"
            " client.session.idle.timeout client.session.max.lifespan"
            " client.offline.session.idle.timeout client.offline.session.max.lifespan",
            "tests/http/test_admin_client_algorithms.py": "access.token.signed.response.alg"
            " id.token.signed.response.alg",
            _ENCRYPTED: "id.token.encrypted.response.alg id.token.encrypted.response.enc"
            " user.info.encrypted.response.alg user.info.encrypted.response.enc"
            " authorization.encrypted.response.alg authorization.encrypted.response.enc"
            " request.object.encryption.alg request.object.encryption.enc",
            "tests/http/test_certificates.py": "tls.client.certificate.bound.access.tokens"
            " x509.subjectdn x509.allow.regex.pattern.comparison x509.casubjectdn",
            "tests/spec/test_certificate_names.py": "realmgate.certificate.san.dns"
            " realmgate.certificate.san.uri realmgate.certificate.san.ip"
            " realmgate.certificate.san.email",
            "tests/spec/test_self_signed_certificates.py": "realmgate.certificate.self.signed",
            "tests/spec/test_device_templates.py": "realmgate.certificate.template"
            " realmgate.certificate.template.claims realmgate.certificate.device.quota"
            " realmgate.certificate.device.failures realmgate.certificate.device.lock",
            "tests/spec/test_renewed_certificates.py": "realmgate.certificates.renewal.overlap",
            _PUSHED: "pkce.code.challenge.method request.object.required"
            " request.object.signature.alg allow.oidc.params.in.redirect.uris",
            "tests/unit/authorization/test_checks.py": "require.pushed.authorization.requests"
            " default.acr.values minimum.acr.value",
            "tests/unit/authorization/test_response_modes.py": "authorization.signed.response.alg"
            " exclude.session.state.from.auth.response exclude.issuer.from.auth.response",
            "tests/http/test_request_objects_at_urls.py": "request.uris",
            "tests/http/test_client_assertions.py": "token.endpoint.auth.signing.alg"
            " token.endpoint.auth.signing.max.exp jwt.credential.certificate"
            " jwt.credential.public.key use.jwks.url jwks.url use.jwks.string jwks.string",
            _TOKENS: "use.refresh.tokens token.response.type.bearer.lower-case",
            "tests/http/test_service_account_tokens.py": "client_credentials.use_refresh_token",
            "tests/http/test_admin_scope_mappings.py": (
                "client.use.lightweight.access.token.enabled"
            ),
            "tests/http/test_browser_sessions.py": "acr.loa.map id.token.as.detached.signature",
            _LOGOUT: "post.logout.redirect.uris frontchannel.logout.url"
            " frontchannel.logout.session.required logout.confirmation.enabled",
            _NOTICES: "backchannel.logout.url backchannel.logout.session.required"
            " backchannel.logout.revoke.offline.tokens",
            "tests/spec/test_dpop.py": "dpop.bound.access.tokens",
            "tests/spec/test_token_exchange.py": "standard.token.exchange.enabled"
            " standard.token.exchange.enableRefreshRequestedTokenType",
            "tests/http/test_device_grant.py": "oauth2.device.authorization.grant.enabled"
            " oauth2.device.code.lifespan oauth2.device.polling.interval",
            "tests/http/test_sign_in_pages.py": "logoUri policyUri tosUri",
            "tests/http/test_login_themes.py": "login_theme",
            _EFFECTS: "client.secret.authentication.allowed.method",
            "tests/http/test_admin_client_secrets.py": "client.secret.creation.time",
            _CLIENTS: "realm_client",
            "tests/spec/test_client_algorithms.py": "access.token.header.type.rfc9068"
            " user.info.response.signature.alg"
            " client.introspection.response.allow.jwt.claim.enabled",
            "tests/spec/test_client_secret_rotation.py": "client.secret.expiration.time"
            " client.secret.rotation.enabled client.secret.remaining.expiration.time"
            " client.secret.rotated client.secret.rotated.creation.time"
            " client.secret.rotated.expiration.time",
        },
        {
            "client.secret.authentication.allowed.method": "`client_secret_basic` or"
            " `client_secret_post`; the other is refused",
            "id.token.as.detached.signature": "ID tokens of the authorization endpoint have no"
            " claims of mappers, but the hashes of code, state and access token",
            "id.token.encrypted.response.alg": f"Also of logout tokens. {_WITHOUT_CONTENT}",
            "user.info.encrypted.response.alg": _WITHOUT_CONTENT,
            "authorization.encrypted.response.alg": _WITHOUT_CONTENT,
            "request.object.encryption.alg": "Of encrypted request objects, which the realm's keys"
            " for RSA-OAEP and RSA-OAEP-256 decrypt; others stay allowed. RSA1_5 is refused",
            "realmgate.certificate.san.dns": "Of a `client-x509` client: exactly one name, or"
            " `x509.subjectdn` instead (RFC 8705 §2.1.2)",
            "realmgate.certificate.self.signed": "`self_signed_tls_client_auth`: the certificate or"
            " its key is in the client's JWKS, or was uploaded",
            "realmgate.certificate.template": "One client for many devices, such as"
            " `spiffe://{trust_domain}/edge/{site}/{device}`; asks for bound tokens",
            "realmgate.certificate.template.claims": "JSON: claims by placeholder; without it each"
            " placeholder is a claim of its name",
            "realmgate.certificate.device.quota": "Token requests of one device in a minute",
            "realmgate.certificate.device.failures": "Refused token requests that lock a device",
            "realmgate.certificate.device.lock": "Seconds of such a lock, and of counting; 300"
            " without it",
            "realmgate.certificates.renewal.overlap": "Seconds after the start of a renewed"
            " certificate in which it replaces that of a bound token; counts instead of the"
            " realm's; 0: never",
            "backchannel.logout.url": "Sent until the client answers with 200 or 204, at most ten"
            " times within an hour; private addresses only where `REALMGATE_FETCH_NETWORKS` allows",
            "dpop.bound.access.tokens": "Every token request needs a DPoP proof. Without it a proof"
            " that is sent binds the tokens all the same",
            "standard.token.exchange.enabled": "Only of confidential clients; the binding of the"
            " exchanged token is proved and kept",
            "standard.token.exchange.enableRefreshRequestedTokenType": "`SAME_SESSION`: also for a"
            " refresh token of the same session; `NO` or nothing: not",
            "pkce.code.challenge.method": "Without it a client may leave PKCE out; RFC 9700 §2.1.1"
            " asks for `S256` with public clients",
            "allow.oidc.params.in.redirect.uris": "Unless `true`, a redirect URI that contains a"
            " parameter of responses is refused",
        },
    ),
    *stored(
        _ATTRIBUTE,
        {
            "The sector of pairwise subjects is in their mapper": "sectorIdentifierUri",
            "Tokens have the audiences of roles and mappers": "resource_url",
            "Names levels by addresses; none is read": "acr.uri.map",
            "The grant does not exist: the token endpoint refuses it": (
                "oidc.ciba.grant.enabled"
                " ciba.backchannel.token.delivery.mode"
                " ciba.backchannel.client.notification.endpoint"
                " ciba.backchannel.auth.request.signing.alg external.token.enabled"
                " oauth2.jwt.authorization.grant.enabled oauth2.jwt.authorization.grant.idp"
                " oauth2.jwt.authorization.grant.audience external.token.idp"
            ),
            "Of federated-jwt clients, which cannot authenticate": (
                "jwt.credential.issuer jwt.credential.sub"
            ),
            "It would allow more; the stricter default holds": (
                "allow.token.introspection.without.audience.check"
                " allow.userinfo.with.lightweight.access.token"
            ),
            _DISPLAY: "consent.screen.text display.on.consent.screen",
            "A note about the client": "initiate.login.uri jwt.credential.kid"
            " security.admin.console cimd.cache.expiry.time.in.sec",
        },
    ),
    *stored(
        _ATTRIBUTE,
        {
            "A secret: nothing here would use it, seal it or mask it": (
                "jwt.credential.private.key saml.signing.private.key saml.encryption.private.key"
            )
        },
        Effect.NOT_STORED,
    ),
    *stored(
        _ATTRIBUTE,
        {
            "SAML clients get no tokens and no assertions": "saml.* saml_*",
            "There is no stream of security events": "ssf.*",
            "There is no endpoint of verifiable credentials": "oid4vci.* attester_trust_idps",
        },
    ),
)
"""Rows with an exact name come before those with a prefix."""
SCOPE_ATTRIBUTE_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(
        Place.SCOPE_ATTRIBUTE,
        {
            "tests/http/test_admin_client_scopes.py": "include.in.token.scope"
            " include.in.openid.provider.metadata",
            "tests/contract/test_consents.py": "display.on.consent.screen consent.screen.text",
        },
    ),
    refused_flag(
        *(Place.SCOPE_ATTRIBUTE, "always.display.consent"),
        "a consent that was given is not asked for again, so the scope would not be displayed",
    ),
    *stored(
        Place.SCOPE_ATTRIBUTE,
        {
            _DISPLAY: "gui.order",
            "A scope with a parameter is unknown and refused": "is.parameterized.scope"
            " is.dynamic.scope parameterized.scope.* dynamic.scope.regexp",
            "There is no endpoint of verifiable credentials": "vc.*",
        },
    ),
)
MAPPER_CONFIG_ROWS: Final[tuple[SettingRow, ...]] = works(
    Place.MAPPER_CONFIG,
    {
        "tests/unit/protocol/test_claim_mappers.py": "access.token.claim id.token.claim"
        " userinfo.token.claim introspection.token.claim lightweight.claim"
        " access.tokenResponse.claim claim.name claim.value jsonType.label multivalued"
    },
)
