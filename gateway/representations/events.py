"""JSON of events, and the fields of a sent document that an admin event records.

The fields of realms, clients, users, client scopes and mappers are marked in their field tables.
Listed here are the members of free maps, such as attributes, and of documents without a table. A
field may be listed only if it never contains a secret, a password, a key or a certificate. Any
other field is left out; of free maps every name is recorded, and only listed ones with their value.
A listed value is recorded if it is plain, which no PEM, token or address with a password is.
Keycloak: EventRepresentation, AdminEventRepresentation, RealmEventsConfigRepresentation; the
representations of the admin API; 10.4, which masks what it knows as a secret and records the rest,
private keys among it
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.events import SAVED_BY_DEFAULT, AdminEvent, ResourceType, UserEvent
from gateway.domain.realm import EventsConfig
from gateway.domain.secrets import looks_secret
from gateway.representations.client_scopes import CLIENT_SCOPE_TABLE, MAPPER_TABLE
from gateway.representations.clients import CLIENT_FIELDS
from gateway.representations.field_table import FieldTable, Setting, without_none
from gateway.representations.realms import REALM_TABLE
from gateway.representations.refusals import raise_all
from gateway.representations.shapes import MASK, Duration, Flag, Milliseconds, TextList
from gateway.representations.users import USER_TABLE

_INSTANT: Final = Milliseconds()


_CONFIG: Final = FieldTable(
    (
        Setting("eventsEnabled", "enabled", Flag()),
        Setting("eventsExpiration", "expiration", Duration(), omit_empty=True),
        Setting("eventsListeners", "listeners", TextList()),
        Setting("enabledEventTypes", "enabled_types", TextList()),
        Setting("adminEventsEnabled", "admin_enabled", Flag()),
        Setting("adminEventsDetailsEnabled", "admin_details_enabled", Flag()),
    )
)


def render_user_event(event: UserEvent) -> dict[str, Any]:
    """Return the JSON object, without what is not known."""
    return without_none(
        {
            "id": event.id,
            "time": _INSTANT.write(event.time),
            "type": event.name,
            "realmId": event.realm_id,
            "clientId": event.client_id,
            "userId": event.user_id,
            "sessionId": event.session_id,
            "ipAddress": event.ip_address,
            "error": event.error,
            "details": dict(event.details) or None,
        }
    )


def render_admin_event(event: AdminEvent) -> dict[str, Any]:
    """Return the JSON object, without what is not known."""
    auth = event.auth
    return without_none(
        {
            "id": event.id,
            "time": _INSTANT.write(event.time),
            "realmId": event.realm_id,
            "authDetails": without_none(
                {
                    "realmId": auth.realm_id,
                    "clientId": auth.client,
                    "userId": auth.user_id,
                    "ipAddress": auth.ip_address,
                }
            ),
            "operationType": event.operation,
            "resourceType": event.resource,
            "resourcePath": event.resource_path,
            "representation": event.representation,
            "details": dict(event.details) or None,
        }
    )


def render_events_config(config: EventsConfig) -> dict[str, Any]:
    """Return the JSON object; where the realm names no types, it lists the default ones."""
    complete = replace(config, enabled_types=config.enabled_types or SAVED_BY_DEFAULT)
    return _CONFIG.answer(complete, {})


def update_events_config(document: Mapping[str, Any], before: EventsConfig) -> EventsConfig:
    """Return what an update by `document` leaves.

    The switch and the expiration are off where they are not given, the others stay as they are; a
    name that comes twice counts once. Raises UnknownField, and InvalidInput with every wrong field.
    Keycloak: PUT events/config, which replaces the first two and merges the rest
    """
    _CONFIG.require_known(document, "RealmEventsConfigRepresentation")
    errors: list[FieldError] = []
    given = _CONFIG.read_settings(_CONFIG.collect(document, "", errors), errors)
    raise_all(errors)
    base = replace(before, enabled=False, expiration=timedelta())
    config = _CONFIG.updated(base, given)
    return replace(
        config,
        listeners=tuple(dict.fromkeys(config.listeners)),
        enabled_types=tuple(dict.fromkeys(config.enabled_types)),
    )


LARGEST: Final = 64 * 1024
"""Characters of one representation."""

_NOTHING: Final = object()
_LONGEST_NAME: Final = 255
_UNFIT: Final = re.compile("[\0\ud800-\udfff]")
"""Characters that some databases cannot store."""


@dataclass(frozen=True, slots=True)
class Fields:
    """An object: `shown` with their value, `masked` as present, `inner` by their own fields."""

    shown: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    inner: Mapping[str, "Node"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Named:
    """A free map: every name is kept, and of `shown` the value."""

    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Lists:
    """A map from names to lists of names, such as the roles of clients."""


Node = Fields | Named | Lists


def _fields(
    shown: str = "", *, table: FieldTable | None = None, masked: str = "", **inner: Node
) -> Fields:
    recorded = frozenset(shown.split()) | (table.recorded if table is not None else frozenset())
    return Fields(recorded, frozenset(masked.split()), inner)


def _named(shown: str = "") -> Named:
    return Named(frozenset(shown.split()))


_MAPPER: Final = _fields(
    "consentRequired consentText",
    table=MAPPER_TABLE,
    config=_named(
        "access.token.claim aggregate.attrs claim.name full.path id.token.claim"
        " included.client.audience included.custom.audience introspection.token.claim"
        " jsonType.label lightweight.claim multivalued role new.role.name user.attribute"
        " user.session.note userinfo.token.claim usermodel.clientRoleMapping.clientId"
        " usermodel.clientRoleMapping.rolePrefix usermodel.realmRoleMapping.rolePrefix"
    ),
)
_ROLE: Final = _fields(
    "id name description scopeParamRequired composite clientRole containerId",
    composites=_fields("realm", client=Lists()),
    attributes=_named(),
)
_GROUP: Final = _fields(
    "id name description path parentId subGroupCount realmRoles",
    attributes=_named(),
    clientRoles=Lists(),
    subGroups=_fields("id name path"),
)
_CLIENT_SCOPE: Final = _fields(
    table=CLIENT_SCOPE_TABLE,
    attributes=_named(
        "consent.screen.text display.on.consent.screen gui.order"
        " include.in.openid.provider.metadata include.in.token.scope is.dynamic.scope"
        " dynamic.scope.regexp"
    ),
    protocolMappers=_MAPPER,
)
_CLIENT: Final = _fields(
    "successRequests failedRequests node kid all roles",
    table=CLIENT_FIELDS,
    masked="secret registrationAccessToken value privateKey certificate publicKey jwks",
    attributes=_named(
        "access.token.header.type.rfc9068 access.token.lifespan access.token.signed.response.alg"
        " acr.loa.map authorization.encrypted.response.alg authorization.signed.response.alg"
        " backchannel.logout.revoke.offline.tokens backchannel.logout.session.required"
        " backchannel.logout.url client.introspection.response.allow.jwt.claim.enabled"
        " client.offline.session.idle.timeout"
        " client.offline.session.max.lifespan client.secret.creation.time"
        " client.secret.expiration.time client.secret.rotated.creation.time"
        " client.secret.rotated.expiration.time"
        " client.session.idle.timeout client.session.max.lifespan"
        " client.use.lightweight.access.token.enabled client_credentials.use_refresh_token"
        " consent.screen.text default.acr.values direct.naked.impersonation.allowed"
        " display.on.consent.screen dpop.bound.access.tokens exclude.issuer.from.auth.response"
        " exclude.session.state.from.auth.response frontchannel.logout.session.required"
        " frontchannel.logout.url id.token.signed.response.alg login_theme logoUri"
        " oauth2.device.authorization.grant.enabled oauth2.device.code.lifespan"
        " oauth2.device.polling.interval oidc.ciba.grant.enabled pkce.code.challenge.method"
        " policyUri post.logout.redirect.uris realm_client realmgate.certificates.renewal.overlap"
        " request.object.required"
        " request.object.signature.alg require.pushed.authorization.requests"
        " standard.token.exchange.enabled tls.client.certificate.bound.access.tokens"
        " token.endpoint.auth.signing.alg token.response.type.bearer.lower-case tosUri use.jwks.url"
        " use.refresh.tokens user.info.response.signature.alg"
        " x509.allow.regex.pattern.comparison x509.casubjectdn x509.subjectdn"
    ),
    authenticationFlowBindingOverrides=_named("browser direct_grant"),
    protocolMappers=_MAPPER,
)
_USER: Final = _fields(
    "totp serviceAccountClientId disableableCredentialTypes realmRoles groups",
    table=USER_TABLE,
    attributes=_named(),
    clientRoles=Lists(),
    credentials=_fields("id type userLabel createdDate priority temporary", masked="value"),
)
_FLOW: Final = _fields(
    "id alias newName description type provider providerId topLevel builtIn requirement priority"
    " authenticatorFlow autheticatorFlow authenticationFlow authenticator authenticatorConfig"
    " authenticationConfig displayName flowId flowAlias parentFlow userSetupAllowed level index"
    " configurable requirementChoices"
)
_REQUIRED_ACTION: Final = _fields(
    "alias name providerId enabled defaultAction priority", config=_named("max_auth_age")
)
_PROFILE: Final = _fields(
    "unmanagedAttributePolicy",
    attributes=_fields(
        "name displayName group multivalued",
        validations=_named(),
        annotations=_named(),
        required=_fields("roles scopes"),
        permissions=_fields("view edit"),
        selector=_fields("scopes"),
    ),
    groups=_fields("name displayHeader displayDescription", annotations=_named()),
)
_OWN: Final = _fields(
    "name hosts client audience bearerAudience forwardAuthorization cookieDomain"
    # Of certificate authorities.
    " sha256 keySha256 kind subject issuer serial notBefore notAfter",
    rules=_fields(
        "name paths methods anonymous realmRoles clientRoles scopes groups clients certificates"
        " accepts boundOnly audiences"
    ),
)
_COMPONENT: Final = _fields(
    "id name providerId providerType parentId subType",
    config=_named(
        "active algorithm ecGenerateCertificate ecdsaEllipticCurveKey eddsaEllipticCurveKey"
        " ecdhEllipticCurveKey enabled keySize keyUse priority"
    ),
)
_REALM: Final = _fields(
    "defaultGroups successRequests failedRequests",
    table=REALM_TABLE,
    attributes=_named(
        "acr.loa.map actionTokenGeneratedByAdminLifespan actionTokenGeneratedByUserLifespan"
        " adminEventsExpiration bruteForceProtected cibaAuthRequestedUserHint"
        " cibaBackchannelTokenDeliveryMode cibaExpiresIn cibaInterval"
        " clientOfflineSessionIdleTimeout clientOfflineSessionMaxLifespan clientSessionIdleTimeout"
        " clientSessionMaxLifespan frontendUrl oauth2DeviceCodeLifespan"
        " oauth2DevicePollingInterval parRequestUriLifespan realmReusableOtpCode"
        " realmgate.bruteForce.failuresPerAddress"
        " realmgate.certificates.gatewayAuthorities realmgate.certificates.policies"
        " realmgate.certificates.expiry.mail.days realmgate.certificates.renewal.overlap"
        " realmgate.certificates.crl.policy realmgate.certificates.crl.points"
        " realmgate.certificates.ocsp"
        " shortVerificationUri userProfileEnabled"
    ),
    browserSecurityHeaders=_named(
        "contentSecurityPolicy contentSecurityPolicyReportOnly referrerPolicy"
        " strictTransportSecurity xContentTypeOptions xFrameOptions xRobotsTag xXSSProtection"
    ),
    smtpServer=_named(
        "allowutf8 auth authType envelopeFrom from fromDisplayName host port replyTo"
        " replyToDisplayName ssl starttls user"
    ),
    defaultRole=_ROLE,
    clientProfiles=_fields(profiles=_fields("name description")),
    clientPolicies=_fields(policies=_fields("name description enabled profiles")),
    profiles=_fields("name description"),
    policies=_fields("name description enabled profiles"),
)

FIELDS: Final[Mapping[ResourceType, Node]] = {
    ResourceType.REALM: _REALM,
    ResourceType.AUTHENTICATOR_CONFIG: _fields("id alias", config=_named("defaultProvider")),
    ResourceType.PROTOCOL_MAPPER: _MAPPER,
    ResourceType.USER: _USER,
    ResourceType.USER_LOGIN_FAILURE: Fields(),
    ResourceType.USER_SESSION: _fields("id username userId ipAddress start lastAccess"),
    ResourceType.USER_PROFILE: _PROFILE,
    ResourceType.CLIENT: _CLIENT,
    ResourceType.CLIENT_INITIAL_ACCESS_MODEL: _fields(
        "id timestamp expiration count remainingCount webOrigins", masked="token"
    ),
    ResourceType.CLUSTER_NODE: _fields("node"),
    ResourceType.COMPONENT: _COMPONENT,
    ResourceType.CUSTOM: _OWN,
    **{
        resource: node
        for node, resources in (
            (_ROLE, ("REALM_ROLE", "REALM_ROLE_MAPPING", "REALM_SCOPE_MAPPING", "CLIENT_ROLE")),
            (_ROLE, ("CLIENT_ROLE_MAPPING", "CLIENT_SCOPE_MAPPING")),
            (_FLOW, ("AUTH_FLOW", "AUTH_EXECUTION_FLOW", "AUTH_EXECUTION")),
            (_REQUIRED_ACTION, ("REQUIRED_ACTION", "REQUIRED_ACTION_CONFIG")),
            (_GROUP, ("GROUP", "GROUP_MEMBERSHIP")),
            (_CLIENT_SCOPE, ("CLIENT_SCOPE", "CLIENT_SCOPE_CLIENT_MAPPING")),
        )
        for resource in map(ResourceType, resources)
    },
}
"""Every kind of resource; a test checks that none is missing."""


def recorded(resource: ResourceType, document: object, fields: FieldTable | None = None) -> str:
    """Return what is kept of `document`, as JSON text: the recorded `fields`, where given."""
    node = FIELDS.get(resource, Fields()) if fields is None else _fields(table=fields)
    kept = _of(node, document)
    text = _json({} if kept is _NOTHING else kept)
    if len(text) > LARGEST:
        return _json({"omitted": f"a representation of more than {LARGEST} characters"})
    return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _of(node: Node, value: object) -> Any:
    """Return what `node` keeps of a value, of a list what it keeps of each item."""
    if isinstance(value, list):
        kept = (_of(node, item) for item in value)
        return [item for item in kept if item is not _NOTHING]
    if not isinstance(value, Mapping):
        return _NOTHING
    members = ((name, _member(node, name, item)) for name, item in value.items() if _fits(name))
    return {name: item for name, item in members if item is not _NOTHING}


def _member(node: Node, name: str, value: object) -> Any:
    match node:
        case Fields() if name in node.inner:
            return _of(node.inner[name], value)
        case Fields():
            return _plain(value) if name in node.shown else _masked(node, name, value)
        case Named():
            return _plain(value) if name in node.shown else MASK
        case Lists():
            return _plain(value) if isinstance(value, list) else _NOTHING


def _masked(node: Fields, name: str, value: object) -> Any:
    return MASK if name in node.masked and value is not None else _NOTHING


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return value if _is_plain(value) else MASK
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value if not isinstance(item, list | Mapping)]
    return _NOTHING


def _fits(name: object) -> bool:
    return isinstance(name, str) and len(name) <= _LONGEST_NAME and _is_plain(name)


def _is_plain(text: str) -> bool:
    return not looks_secret(text) and _UNFIT.search(text) is None
