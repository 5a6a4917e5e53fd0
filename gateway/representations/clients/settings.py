"""Settings of a client that stand among its attributes, parsed once: rules read the result.

The attributes themselves are kept verbatim. Keycloak: client attributes (26.7)
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.realm import RENEWAL_OVERLAP
from gateway.representations.clients.attribute_values import (
    ALGORITHM,
    CONTENT_ENCRYPTION,
    EXCHANGE_REFRESH,
    FLAG,
    FLAG_UNLESS_FALSE,
    INSTANT,
    KEY_MANAGEMENT,
    LEVELS,
    LIFESPAN,
    LIMIT,
    LIST,
    REQUEST_CONTENT_ENCRYPTION,
    REQUEST_ENCRYPTION,
    SWITCH,
    TEXT,
    AttributeValue,
    ValueCheck,
)
from gateway.representations.clients.certificate_values import (
    CERTIFICATE_TEMPLATE,
    COUNT,
    LOCK_DURATION,
    OVERLAP,
    TEMPLATE_CLAIM_NAMES,
    name_of,
)

SUBJECT: Final = "x509.subjectdn"
SUBJECT_IS_PATTERN: Final = "x509.allow.regex.pattern.comparison"
AUTHORITY: Final = "x509.casubjectdn"
BOUND: Final = "tls.client.certificate.bound.access.tokens"
CERTIFICATE_PREFIX: Final = "realmgate.certificate."
SAN_DNS: Final = "realmgate.certificate.san.dns"
SAN_URI: Final = "realmgate.certificate.san.uri"
SAN_IP: Final = "realmgate.certificate.san.ip"
SAN_EMAIL: Final = "realmgate.certificate.san.email"
SELF_SIGNED: Final = "realmgate.certificate.self.signed"
TEMPLATE: Final = "realmgate.certificate.template"
TEMPLATE_CLAIMS: Final = "realmgate.certificate.template.claims"
DEVICE_QUOTA: Final = "realmgate.certificate.device.quota"
DEVICE_FAILURES: Final = "realmgate.certificate.device.failures"
DEVICE_LOCK: Final = "realmgate.certificate.device.lock"
ADMINISTRATIVE_ROLES: Final = "realmgate.administrative.roles"
"""Of exports alone: a JSON list of the administrative roles that tokens may carry."""
SECRET_CREATED: Final = "client.secret.creation.time"  # noqa: S105 - an attribute
SECRET_EXPIRES: Final = "client.secret.expiration.time"  # noqa: S105 - an attribute
ROTATED_SECRET: Final = "client.secret.rotated"  # noqa: S105 - an attribute
ROTATED_CREATED: Final = "client.secret.rotated.creation.time"
ROTATED_EXPIRES: Final = "client.secret.rotated.expiration.time"
SECRET_REMAINING: Final = "client.secret.remaining.expiration.time"  # noqa: S105 - an attribute


def with_attributes(client: Client, attributes: Mapping[str, str]) -> Client:
    """Return the client with these attributes and the settings that they hold."""
    settings = client_settings(attributes, client.document)
    return replace(client, attributes=attributes, **settings)


def client_settings(
    attributes: Mapping[str, str], document: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return all groups of settings by field of `Client`; those at their defaults are shared.

    `document` is the representation, where the redirect URIs stand.
    """
    found = _of_document(document)
    for name, text in attributes.items():
        setting = _SETTINGS.get(name)
        if setting is not None:
            found.setdefault(setting.group, {})[setting.field] = setting.value.parse(text)
    if not found:
        return _DEFAULTS
    given = {group: type(_DEFAULTS[group])(**values) for group, values in found.items()}
    return {**_DEFAULTS, **given}


_FIELDS: Final[tuple[tuple[str, str, str, type], ...]] = (
    ("rootUrl", "redirects", "root_url", str),
    ("redirectUris", "redirects", "patterns", tuple),
    ("rootUrl", "display", "root_url", str),
    ("baseUrl", "display", "base_url", str),
    ("name", "display", "name", str),
    ("alwaysDisplayInConsole", "display", "always_listed", bool),
    ("rootUrl", "logout", "root_url", str),
    ("frontchannelLogout", "logout", "uses_front_channel", bool),
)
"""Members of the representation: name, group and field of `Client`, type."""


def _of_document(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings by group that are members of the representation."""
    found: dict[str, dict[str, Any]] = {}
    for name, group, field, kind in _FIELDS:
        if value := document.get(name):
            found.setdefault(group, {})[field] = kind(value)
    return found


@dataclass(frozen=True, slots=True)
class _Setting:
    """Where the value of an attribute stands: `field` of the group `group` of the client."""

    group: str
    field: str
    value: AttributeValue
    harmless: str = ""
    """Why it is not part of the reach of a client; empty where it is. See `reach.py`."""


_OTHER_TIME: Final = "the same tokens for another time"
_SETTINGS: Final[Mapping[str, _Setting]] = {
    "access.token.lifespan": _Setting("tokens", "access_token_lifespan", LIFESPAN, _OTHER_TIME),
    BOUND: _Setting("tokens", "certificate_bound", FLAG),
    "dpop.bound.access.tokens": _Setting("tokens", "dpop_bound", FLAG),
    "client.use.lightweight.access.token.enabled": _Setting("tokens", "lightweight", SWITCH),
    "use.refresh.tokens": _Setting("tokens", "refresh_tokens", FLAG_UNLESS_FALSE),
    "client_credentials.use_refresh_token": _Setting(
        "tokens", "refresh_tokens_of_service_account", FLAG
    ),
    "standard.token.exchange.enabled": _Setting("tokens", "exchange", FLAG),
    "standard.token.exchange.enableRefreshRequestedTokenType": _Setting(
        "tokens", "exchange_refreshes", EXCHANGE_REFRESH
    ),
    "token.response.type.bearer.lower-case": _Setting("tokens", "lower_case_type", FLAG),
    "client.session.idle.timeout": _Setting("session_limits", "idle", LIMIT, _OTHER_TIME),
    "client.session.max.lifespan": _Setting("session_limits", "max_lifespan", LIMIT, _OTHER_TIME),
    "client.offline.session.idle.timeout": _Setting(
        "session_limits", "offline_idle", LIMIT, _OTHER_TIME
    ),
    "client.offline.session.max.lifespan": _Setting(
        "session_limits", "offline_max_lifespan", LIMIT, _OTHER_TIME
    ),
    "access.token.signed.response.alg": _Setting("signing", "access_token", ALGORITHM),
    "id.token.signed.response.alg": _Setting("signing", "id_token", ALGORITHM),
    "id.token.as.detached.signature": _Setting("signing", "id_token_as_detached_signature", SWITCH),
    "user.info.response.signature.alg": _Setting("signing", "userinfo", ALGORITHM),
    "access.token.header.type.rfc9068": _Setting("signing", "rfc9068_header", FLAG),
    "client.introspection.response.allow.jwt.claim.enabled": _Setting(
        "signing", "introspection_jwt", FLAG
    ),
    "authorization.signed.response.alg": _Setting("signing", "authorization_response", ALGORITHM),
    "id.token.encrypted.response.alg": _Setting("encryption", "id_token", KEY_MANAGEMENT),
    "id.token.encrypted.response.enc": _Setting(
        "encryption", "id_token_content", CONTENT_ENCRYPTION
    ),
    "user.info.encrypted.response.alg": _Setting("encryption", "userinfo", KEY_MANAGEMENT),
    "user.info.encrypted.response.enc": _Setting(
        "encryption", "userinfo_content", CONTENT_ENCRYPTION
    ),
    "authorization.encrypted.response.alg": _Setting(
        "encryption", "authorization_response", KEY_MANAGEMENT
    ),
    "authorization.encrypted.response.enc": _Setting(
        "encryption", "authorization_response_content", CONTENT_ENCRYPTION
    ),
    "post.logout.redirect.uris": _Setting("redirects", "after_logout", LIST),
    "backchannel.logout.url": _Setting("logout", "back_channel_path", TEXT),
    "backchannel.logout.session.required": _Setting(
        "logout", "back_channel_session_required", SWITCH
    ),
    "backchannel.logout.revoke.offline.tokens": _Setting("logout", "revoke_offline_tokens", SWITCH),
    "frontchannel.logout.url": _Setting("logout", "front_channel_path", TEXT),
    "frontchannel.logout.session.required": _Setting(
        "logout", "front_channel_session_required", SWITCH
    ),
    "logout.confirmation.enabled": _Setting("logout", "stops_at_page", SWITCH),
    "allow.oidc.params.in.redirect.uris": _Setting("redirects", "may_hold_response", SWITCH),
    "pkce.code.challenge.method": _Setting("authorization", "code_challenge_method", TEXT),
    "require.pushed.authorization.requests": _Setting(
        "authorization", "pushed_requests_only", SWITCH
    ),
    "exclude.issuer.from.auth.response": _Setting("authorization", "exclude_issuer", SWITCH),
    "exclude.session.state.from.auth.response": _Setting(
        "authorization", "exclude_session_state", SWITCH
    ),
    "oauth2.device.authorization.grant.enabled": _Setting("device_grant", "enabled", SWITCH),
    "oauth2.device.code.lifespan": _Setting("device_grant", "code_lifespan", LIMIT),
    "oauth2.device.polling.interval": _Setting("device_grant", "polling_interval", LIMIT),
    "acr.loa.map": _Setting("levels", "names", LEVELS),
    "default.acr.values": _Setting("levels", "default", LIST),
    "minimum.acr.value": _Setting("levels", "minimum", TEXT),
    "request.object.signature.alg": _Setting("request_objects", "algorithm", TEXT),
    "request.object.encryption.alg": _Setting("request_objects", "encryption", REQUEST_ENCRYPTION),
    "request.object.encryption.enc": _Setting(
        "request_objects", "content_encryption", REQUEST_CONTENT_ENCRYPTION
    ),
    "request.object.required": _Setting("request_objects", "required", TEXT),
    "request.uris": _Setting("request_objects", "uris", LIST),
    "jwks.string": _Setting("verification_keys", "key_set", TEXT),
    "use.jwks.string": _Setting("verification_keys", "uses_key_set", SWITCH),
    "jwks.url": _Setting("verification_keys", "key_set_url", TEXT),
    "use.jwks.url": _Setting("verification_keys", "uses_key_set_url", SWITCH),
    "jwt.credential.certificate": _Setting("verification_keys", "certificate", TEXT),
    "jwt.credential.public.key": _Setting("verification_keys", "public_key", TEXT),
    "token.endpoint.auth.signing.alg": _Setting("assertions", "algorithm", TEXT),
    "token.endpoint.auth.signing.max.exp": _Setting("assertions", "max_lifespan", LIMIT),
    "logoUri": _Setting("display", "logo_uri", TEXT, "a link for users"),
    "policyUri": _Setting("display", "policy_uri", TEXT, "a link for users"),
    "tosUri": _Setting("display", "terms_uri", TEXT, "a link for users"),
    "login_theme": _Setting("display", "theme", TEXT),
    SUBJECT: _Setting("certificate_authentication", "subject", TEXT),
    SUBJECT_IS_PATTERN: _Setting("certificate_authentication", "is_pattern", FLAG),
    AUTHORITY: _Setting("certificate_authentication", "authority", TEXT),
    SAN_DNS: _Setting("certificate_authentication", "alternative_name", name_of("dns")),
    SAN_URI: _Setting("certificate_authentication", "alternative_name", name_of("uri")),
    SAN_IP: _Setting("certificate_authentication", "alternative_name", name_of("ip")),
    SAN_EMAIL: _Setting("certificate_authentication", "alternative_name", name_of("email")),
    SELF_SIGNED: _Setting("certificate_authentication", "self_signed", FLAG),
    TEMPLATE: _Setting("devices", "template", CERTIFICATE_TEMPLATE),
    TEMPLATE_CLAIMS: _Setting("devices", "claims", TEMPLATE_CLAIM_NAMES),
    DEVICE_QUOTA: _Setting("devices", "tokens_per_minute", COUNT),
    DEVICE_FAILURES: _Setting("devices", "failures", COUNT),
    RENEWAL_OVERLAP: _Setting("tokens", "renewal_overlap", OVERLAP),
    DEVICE_LOCK: _Setting("devices", "lock_duration", LOCK_DURATION),
    "client.secret.authentication.allowed.method": _Setting(
        "secret_settings", "allowed_method", TEXT
    ),
    SECRET_EXPIRES: _Setting("secret_settings", "expires_at", INSTANT),
    ROTATED_EXPIRES: _Setting("secret_settings", "rotated_expires_at", INSTANT),
}
SETTING_ATTRIBUTES: Final = frozenset(_SETTINGS)
"""The attributes that rules read."""
HARMLESS_SETTINGS: Final[Mapping[str, str]] = {
    name: setting.harmless for name, setting in _SETTINGS.items() if setting.harmless
}
"""The attributes that are not part of the reach of a client, and why."""
_GROUPS: Final = frozenset(setting.group for setting in _SETTINGS.values())
_DEFAULTS: Final[Mapping[str, Any]] = {
    item.name: item.default for item in fields(Client) if item.name in _GROUPS
}
_CHECKED_ONLY: Final = {
    SECRET_CREATED: INSTANT,
    ROTATED_CREATED: INSTANT,
}
"""Attributes that are validated though no rule reads them."""
CHECKS: Final[Mapping[str, ValueCheck]] = {
    name: value.check
    for name, value in (
        *((name, setting.value) for name, setting in _SETTINGS.items()),
        *_CHECKED_ONLY.items(),
    )
    if value.check
}
"""Attribute -> the check of its text, where any text is refused."""
