"""Fields and attributes of clients. Keycloak: ClientRepresentation, OIDCConfigAttributes (26.7)."""

from typing import Final

from gateway.representations.setting_effects.rows import (
    OtherThan,
    Place,
    SettingRow,
    is_given,
    is_true,
    not_stored,
    refused,
    stored,
    works,
)

_FIELD: Final = Place.CLIENT_FIELD
_ATTRIBUTE: Final = Place.CLIENT_ATTRIBUTE
_SIGNED_RESPONSES: Final = "tests/spec/test_client_algorithms.py"
_ROTATION: Final = "tests/spec/test_client_secret_rotation.py"

_NO_AUTHORIZATION: Final = "There is no authorization endpoint, so no such request succeeds"
_NO_LOGOUT_NOTICE: Final = "No logout request is sent to clients yet"
_NO_GRANT: Final = "The grant does not exist: the token endpoint refuses it"
_NO_ASSERTION: Final = "The client cannot authenticate: the token endpoint refuses it"
_DISPLAY: Final = "Display only"
_LOOSER: Final = "It would allow more; the stricter default holds"
_INTERNAL: Final = "A note about the client"
_NO_ENCRYPTION: Final = "encryption is not supported yet, so the response would not be encrypted"
_NO_REQUEST_OBJECT: Final = "request objects are not supported yet, so none would be required"
_NO_STEP_UP: Final = "authentication levels are not enforced yet"
_SESSIONS: Final = "tests/spec/test_refresh_and_sessions.py"
_CLIENTS: Final = "tests/http/test_admin_clients.py"
_TOKENS: Final = "tests/http/test_token_endpoint.py"
_ALGORITHMS: Final = "tests/http/test_admin_client_algorithms.py"


def _flag(name: str, reason: str) -> SettingRow:
    return refused(
        _ATTRIBUTE, name, reason, refuses=is_true, sample="true", allowed='"false" or nothing'
    )


def _text(name: str, reason: str, sample: str, *accepted: str) -> SettingRow:
    allowed = " or ".join((*(f'"{each}"' for each in accepted), "nothing"))
    return refused(
        *(_ATTRIBUTE, name, reason),
        refuses=OtherThan(accepted) if accepted else is_given,
        sample=sample,
        allowed=allowed,
    )


CLIENT_FIELD_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(_FIELD, _CLIENTS, "id", "clientId", "secret", "protocol", "attributes"),
    *works(_FIELD, "tests/http/test_token_endpoint.py", "enabled"),
    *works(
        *(_FIELD, "tests/http/test_setting_effects.py", "clientAuthenticatorType"),
        note="client-jwt, client-secret-jwt and federated-jwt clients cannot authenticate yet",
    ),
    *works(_FIELD, "tests/http/test_edge.py", "webOrigins"),
    *works(_FIELD, "tests/http/test_token_guards.py", "notBefore"),
    *works(_FIELD, _CLIENTS, "bearerOnly", "publicClient", "serviceAccountsEnabled"),
    *works(
        *(_FIELD, "tests/http/test_password_grant.py", "consentRequired"),
        note="The password grant is refused",
    ),
    *works(_FIELD, "tests/http/test_password_grant.py", "directAccessGrantsEnabled"),
    *works(
        *(_FIELD, "tests/http/test_flows_in_use.py", "authenticationFlowBindingOverrides"),
        note="`direct_grant`; other flows are refused",
    ),
    *works(_FIELD, "tests/http/test_admin_scope_mappings.py", "fullScopeAllowed"),
    *works(_FIELD, "tests/http/test_admin_protocol_mappers.py", "protocolMappers"),
    *works(
        *(_FIELD, "tests/http/test_admin_client_scopes.py"),
        *("defaultClientScopes", "optionalClientScopes"),
    ),
    *stored(_FIELD, _DISPLAY, "name", "description", "type", "rootUrl", "baseUrl"),
    *stored(_FIELD, _DISPLAY, "alwaysDisplayInConsole"),
    *stored(_FIELD, _NO_LOGOUT_NOTICE, "adminUrl", "frontchannelLogout"),
    *stored(_FIELD, _NO_AUTHORIZATION, "redirectUris", "standardFlowEnabled"),
    *stored(_FIELD, _NO_AUTHORIZATION, "implicitFlowEnabled"),
    *stored(_FIELD, "Keycloak does not read it either", "surrogateAuthRequired"),
    *stored(
        *(_FIELD, "The UMA grant does not exist: no permission is ever granted"),
        *("authorizationServicesEnabled", "authorizationSettings"),
    ),
    *stored(_FIELD, "Nodes are listed only", "nodeReRegistrationTimeout", "registeredNodes"),
    *stored(_FIELD, "Replaced by roles; Keycloak imports it only", "defaultRoles"),
)

_WORKING: Final[tuple[SettingRow, ...]] = (
    *works(_ATTRIBUTE, _SESSIONS, "access.token.lifespan"),
    *works(_ATTRIBUTE, _SESSIONS, "client.session.idle.timeout", "client.session.max.lifespan"),
    *works(
        *(_ATTRIBUTE, _SESSIONS),
        *("client.offline.session.idle.timeout", "client.offline.session.max.lifespan"),
    ),
    *works(_ATTRIBUTE, _ALGORITHMS, "access.token.signed.response.alg"),
    *works(_ATTRIBUTE, _ALGORITHMS, "id.token.signed.response.alg"),
    *works(
        *(_ATTRIBUTE, "tests/http/test_certificates.py"),
        *("tls.client.certificate.bound.access.tokens", "x509.subjectdn"),
        "x509.allow.regex.pattern.comparison",
    ),
    *works(_ATTRIBUTE, _TOKENS, "client_credentials.use_refresh_token", "use.refresh.tokens"),
    *works(_ATTRIBUTE, _TOKENS, "token.response.type.bearer.lower-case"),
    *works(
        *(_ATTRIBUTE, "tests/http/test_admin_scope_mappings.py"),
        "client.use.lightweight.access.token.enabled",
    ),
    *works(
        *(_ATTRIBUTE, "tests/http/test_setting_effects.py"),
        "client.secret.authentication.allowed.method",
        note="`client_secret_basic` or `client_secret_post`; the other is refused",
    ),
    *works(_ATTRIBUTE, "tests/http/test_admin_client_secrets.py", "client.secret.creation.time"),
    *works(_ATTRIBUTE, _CLIENTS, "realm_client"),
    *works(
        *(_ATTRIBUTE, _SIGNED_RESPONSES),
        *("access.token.header.type.rfc9068", "user.info.response.signature.alg"),
        "client.introspection.response.allow.jwt.claim.enabled",
    ),
    *works(
        *(_ATTRIBUTE, _ROTATION),
        *("client.secret.expiration.time", "client.secret.rotation.enabled"),
        *("client.secret.remaining.expiration.time", "client.secret.rotated"),
        *("client.secret.rotated.creation.time", "client.secret.rotated.expiration.time"),
    ),
)

_REFUSED: Final[tuple[SettingRow, ...]] = (
    _flag("dpop.bound.access.tokens", "DPoP is not supported yet, so tokens would not be bound"),
    _flag(
        "require.pushed.authorization.requests",
        "pushed authorization requests are not supported yet, so none would be required",
    ),
    _text("request.object.required", _NO_REQUEST_OBJECT, "request only", "not required"),
    _text("request.object.signature.alg", _NO_REQUEST_OBJECT, "ES512", "any", "none"),
    _text("request.object.encryption.alg", _NO_REQUEST_OBJECT, "RSA-OAEP", "any"),
    _text("request.object.encryption.enc", _NO_REQUEST_OBJECT, "A256GCM", "any"),
    *(
        refused(
            *(_ATTRIBUTE, f"{response}.encrypted.response.{part}", _NO_ENCRYPTION),
            *(),
            refuses=is_given,
            sample=sample,
            allowed="nothing",
        )
        for response in ("id.token", "authorization")
        for part, sample in (("alg", "RSA-OAEP"), ("enc", "A256GCM"))
    ),
    _text("user.info.encrypted.response.alg", _NO_ENCRYPTION, "RSA-OAEP"),
    _text("user.info.encrypted.response.enc", _NO_ENCRYPTION, "A256GCM"),
    _flag(
        "id.token.as.detached.signature",
        "authorization responses are not supported yet, so none would be signed",
    ),
    _text("default.acr.values", _NO_STEP_UP, "gold"),
    _text("minimum.acr.value", _NO_STEP_UP, "gold"),
    _text(
        "x509.casubjectdn",
        "the certificate authority's subject is not compared yet, so any trusted one would do",
        "CN=Device CA,O=Example",
    ),
)

_STORED: Final[tuple[SettingRow, ...]] = (
    *stored(_ATTRIBUTE, _NO_AUTHORIZATION, "pkce.code.challenge.method", "request.uris"),
    *stored(_ATTRIBUTE, _NO_AUTHORIZATION, "authorization.signed.response.alg"),
    *stored(
        *(_ATTRIBUTE, _NO_AUTHORIZATION),
        *("exclude.session.state.from.auth.response", "exclude.issuer.from.auth.response"),
        *("allow.oidc.params.in.redirect.uris", "post.logout.redirect.uris"),
        *("sectorIdentifierUri", "resource_url"),
    ),
    *stored(_ATTRIBUTE, "Names levels; no level is enforced", "acr.loa.map", "acr.uri.map"),
    *stored(
        *(_ATTRIBUTE, _NO_LOGOUT_NOTICE),
        *("backchannel.logout.url", "backchannel.logout.session.required"),
        *("backchannel.logout.revoke.offline.tokens", "frontchannel.logout.url"),
        *("frontchannel.logout.session.required", "logout.confirmation.enabled"),
    ),
    *stored(
        *(_ATTRIBUTE, _NO_GRANT),
        *("oauth2.device.authorization.grant.enabled", "oauth2.device.code.lifespan"),
        *("oauth2.device.polling.interval", "oidc.ciba.grant.enabled"),
        *("ciba.backchannel.token.delivery.mode", "ciba.backchannel.client.notification.endpoint"),
        *("ciba.backchannel.auth.request.signing.alg", "standard.token.exchange.enabled"),
        *("standard.token.exchange.enableRefreshRequestedTokenType", "external.token.enabled"),
        *("oauth2.jwt.authorization.grant.enabled", "oauth2.jwt.authorization.grant.idp"),
        *("oauth2.jwt.authorization.grant.audience", "external.token.idp"),
    ),
    *stored(
        *(_ATTRIBUTE, _NO_ASSERTION),
        *("token.endpoint.auth.signing.alg", "token.endpoint.auth.signing.max.exp"),
        *("jwt.credential.certificate", "jwt.credential.public.key", "jwt.credential.kid"),
        *("jwt.credential.issuer", "jwt.credential.sub"),
        *("use.jwks.url", "jwks.url", "use.jwks.string", "jwks.string"),
    ),
    *not_stored(
        *(_ATTRIBUTE, "A secret: nothing here would use it, seal it or mask it"),
        *("jwt.credential.private.key", "saml.signing.private.key"),
        "saml.encryption.private.key",
    ),
    *stored(_ATTRIBUTE, _LOOSER, "allow.token.introspection.without.audience.check"),
    *stored(_ATTRIBUTE, _LOOSER, "allow.userinfo.with.lightweight.access.token"),
    *stored(
        *(_ATTRIBUTE, _DISPLAY),
        *("logoUri", "policyUri", "tosUri", "login_theme", "consent.screen.text"),
        "display.on.consent.screen",
    ),
    *stored(_ATTRIBUTE, _INTERNAL, "security.admin.console", "cimd.cache.expiry.time.in.sec"),
)

_OTHER_PRODUCTS: Final[tuple[SettingRow, ...]] = (
    *stored(_ATTRIBUTE, "SAML clients get no tokens and no assertions", "saml.*", "saml_*"),
    *stored(_ATTRIBUTE, "There is no stream of security events", "ssf.*"),
    *stored(
        *(_ATTRIBUTE, "There is no endpoint of verifiable credentials"),
        *("oid4vci.*", "attester_trust_idps"),
    ),
)

CLIENT_ATTRIBUTE_ROWS: Final = (*_WORKING, *_REFUSED, *_STORED, *_OTHER_PRODUCTS)
"""Rows with an exact name come before those with a prefix."""
