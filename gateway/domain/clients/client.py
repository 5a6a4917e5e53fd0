"""OAuth clients as the rules see them: the client, its devices, how certificates find it.

The whole representation is kept in `document`, so that fields without a rule of their own are
returned unchanged; the typed fields are for the rules. A device is known by a name in its
certificate that fits the client's template: there is no list of devices and no secret. A client has
one term by which it is found for a certificate: of its registered name, or of the shape of its
template. A pattern of subjects has none: it would have to be tried with every certificate. A term
only finds candidates; `gateway/certificates/registered_names.py` decides.
Keycloak: ClientRepresentation; client-authenticator-providers, their texts and order in the flow
`clients`. Spec: RFC 7591 §2 (token_endpoint_auth_method)
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from typing import Any, Final

from gateway.domain.certificate_names import (
    DEVICE_CLAIM,
    CertificateTemplate,
    CertifiedDevice,
    canonical_email,
    shapes_of,
    shapes_of_name,
    shapes_of_subject,
    subject_parts,
)
from gateway.domain.certificates import ClientCertificate, PresentedCertificate
from gateway.domain.clients.administrative_reach import NO_ADMINISTRATIVE_ROLES, AdministrativeReach
from gateway.domain.clients.attributes import (
    CERTIFICATE_TEMPLATE,
    COUNT,
    DEVICE_FAILURES,
    DEVICE_LOCK,
    DEVICE_QUOTA,
    INSTANT,
    LOCK_DURATION,
    ROTATED_CREATED,
    SECRET_CREATED,
    TEMPLATE,
    TEMPLATE_CLAIM_NAMES,
    TEMPLATE_CLAIMS,
    TEXT,
    AttributeValue,
    ValueCheck,
    setting,
)
from gateway.domain.clients.redirect_uris import RedirectUris
from gateway.domain.clients.settings import (
    AuthenticationLevels,
    AuthorizationSettings,
    CertificateAuthentication,
    ClientAssertions,
    ClientEncryption,
    ClientSessionLimits,
    ClientSigning,
    ClientTokens,
    DeviceGrantSettings,
    LogoutSettings,
    RequestObjectSettings,
    SecretSettings,
    VerificationKeys,
)
from gateway.domain.distinguished_names import DistinguishedName, parse_distinguished_name
from gateway.domain.secrets import Secret

CERTIFICATE_AUTHENTICATOR: Final = "client-x509"
"""The id of the authenticator by client certificate."""
TLS_METHOD: Final = "tls_client_auth"
SELF_SIGNED_METHOD: Final = "self_signed_tls_client_auth"
"""Of a certificate that is registered itself. Spec: RFC 8705 §2.2."""


@dataclass(frozen=True, slots=True)
class ClientAuthenticatorType:
    """A way of client authentication; `help` says in a sentence what it does."""

    id: str
    name: str
    help: str
    methods: tuple[str, ...] = ()
    """Its names in client metadata; the first is the one of a client that chose none of them."""
    uses_secret: bool = False
    """The proof is made with the client's secret, so a new client gets one."""


CLIENT_AUTHENTICATORS: Final = (
    ClientAuthenticatorType(
        *("client-secret", "Client Id and Secret", "Compares the client's secret"),
        methods=("client_secret_basic", "client_secret_post"),
        uses_secret=True,
    ),
    ClientAuthenticatorType(
        *("client-jwt", "Signed JWT", "Verifies a JWT that the client has signed"),
        methods=("private_key_jwt",),
    ),
    ClientAuthenticatorType(
        *("client-secret-jwt", "Signed JWT with Client Secret"),
        "Verifies a JWT that is signed with the client's secret",
        methods=("client_secret_jwt",),
        uses_secret=True,
    ),
    ClientAuthenticatorType(
        CERTIFICATE_AUTHENTICATOR,
        "X509 Certificate",
        "Compares the subject of the TLS certificate",
        methods=(TLS_METHOD, SELF_SIGNED_METHOD),
    ),
    ClientAuthenticatorType(
        "federated-jwt", "Signed JWT - Federated", "Verifies a JWT of another provider"
    ),
)
"""In the order of the flow `clients` of a new realm."""
WITH_SECRET: Final = frozenset(each.id for each in CLIENT_AUTHENTICATORS if each.uses_secret)
"""The ids of those that use the client's secret."""


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """The template of a client, and the limits of each device."""

    template: CertificateTemplate | None = setting(TEMPLATE, CERTIFICATE_TEMPLATE)
    """None for a client that is one device."""
    claims: Mapping[str, str] = setting(TEMPLATE_CLAIMS, TEMPLATE_CLAIM_NAMES)
    """Claim by placeholder; else its own name."""
    tokens_per_minute: int = setting(DEVICE_QUOTA, COUNT)
    """Token requests of one device; 0: without a limit."""
    failures: int = setting(DEVICE_FAILURES, COUNT)
    """Refused token requests within `lock_duration` that lock a device; 0: none do."""
    lock_duration: timedelta = setting(DEVICE_LOCK, LOCK_DURATION)
    """How long such a lock lasts."""

    def device_of(self, certificate: ClientCertificate | None) -> CertifiedDevice | None:
        """Return the device of a trusted certificate; None unless exactly one name fits."""
        if certificate is None or not certificate.identifies:
            return None
        if self.template is None or self.template.ambiguity(certificate.leaf) is not None:
            return None
        found = self.template.devices(certificate.leaf)
        return found[0] if len(found) == 1 else None

    def named_in(self, leaf: PresentedCertificate) -> tuple[CertifiedDevice, ...]:
        """Return the devices that a certificate names, which may be of any authority."""
        return () if self.template is None else self.template.devices(leaf)

    def claims_of(self, device: CertifiedDevice) -> dict[str, str]:
        """Return the claims of the device's tokens: its placeholders, and its whole name."""
        named = {self.claims.get(name, name): value for name, value in device.values.items()}
        return {**named, DEVICE_CLAIM: device.name}


@dataclass(frozen=True, slots=True)
class ClientDisplay:
    """Texts and addresses as they were set; pages link only to those that are safe."""

    name: str = ""
    """`name`; it may stand for a text of the pages, as `${client_account}`."""
    base_url: str = ""
    """`baseUrl`, where people open the application; relative to `rootUrl`."""
    root_url: str = ""
    """`rootUrl`"""
    logo_uri: str = setting("logoUri", TEXT)
    policy_uri: str = setting("policyUri", TEXT)
    terms_uri: str = setting("tosUri", TEXT)
    always_listed: bool = False
    """`alwaysDisplayInConsole`: the account console lists it for every user."""
    theme: str = setting("login_theme", TEXT)
    """Replaces the realm's."""


OPENID_CONNECT: Final = "openid-connect"


@dataclass(frozen=True, slots=True)
class ProtocolMapper:
    """A protocol mapper: `mapper_type` is Keycloak's provider id, `config` its string map."""

    id: str
    name: str
    mapper_type: str
    config: Mapping[str, str]
    protocol: str = OPENID_CONNECT
    """Only those of `openid-connect` have an effect here; others are kept."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client of one realm. `id` is the internal UUID, `client_id` the public name.

    `document` has the members of the representation that are no field here, `attributes` what
    stands there under that name. Only `representations` reads or writes them: rules read the
    groups of settings that `client_settings` parses from both.
    """

    id: str
    realm_id: str
    client_id: str
    enabled: bool = True
    protocol: str = OPENID_CONNECT
    public_client: bool = False
    bearer_only: bool = False
    client_authenticator_type: str = "client-secret"
    secret: Secret | None = None
    rotated_secret: Secret | None = None
    """The secret before the current one; `secret_settings` limit how long it is accepted."""
    service_accounts_enabled: bool = False
    direct_access_grants_enabled: bool = False
    """The client may ask for tokens with a user's password."""
    standard_flow_enabled: bool = True
    """The client may ask for codes."""
    implicit_flow_enabled: bool = False
    """The client may ask for tokens in the response of the authorization endpoint."""
    consent_required: bool = False
    full_scope_allowed: bool = True
    not_before: int = 0
    web_origins: tuple[str, ...] = ()
    """As they were given: `+` stands for the origins of the redirect URIs."""
    allowed_origins: tuple[str, ...] | None = None
    """The web origins with those of the redirect URIs in the place of `+`; None without any."""
    default_client_scopes: tuple[str, ...] = ()
    optional_client_scopes: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    # Clients at the defaults share one value of each group.
    tokens: ClientTokens = field(default=ClientTokens())
    signing: ClientSigning = field(default=ClientSigning())
    encryption: ClientEncryption = field(default=ClientEncryption())
    session_limits: ClientSessionLimits = field(default=ClientSessionLimits())
    certificate_authentication: CertificateAuthentication = field(
        default=CertificateAuthentication()
    )
    devices: DeviceSettings = field(default=DeviceSettings())
    secret_settings: SecretSettings = field(default=SecretSettings())
    assertions: ClientAssertions = field(default=ClientAssertions())
    redirects: RedirectUris = field(default=RedirectUris())
    logout: LogoutSettings = field(default=LogoutSettings())
    authorization: AuthorizationSettings = field(default=AuthorizationSettings())
    device_grant: DeviceGrantSettings = field(default=DeviceGrantSettings())
    levels: AuthenticationLevels = field(default=AuthenticationLevels())
    request_objects: RequestObjectSettings = field(default=RequestObjectSettings())
    verification_keys: VerificationKeys = field(default=VerificationKeys())
    display: ClientDisplay = field(default=ClientDisplay())
    flow_overrides: Mapping[str, str] = field(default_factory=dict)
    """Ids of flows that replace the realm's, by use: `browser` and `direct_grant`."""
    protocol_mappers: tuple[ProtocolMapper, ...] = ()
    reach: AdministrativeReach = NO_ADMINISTRATIVE_ROLES
    """The administrative roles of users that its tokens may carry; no document changes that."""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    later: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Stored members that a later version has added; only storage reads them."""


MOST_NAMES: Final = 64
"""Names of a certificate that clients are looked for by: alternative ones, and of the subject."""


def certificate_terms(client: Client) -> frozenset[str]:
    """Return the terms of a client; none where only a request with its client_id finds it."""
    registered, template = client.certificate_authentication, client.devices.template
    if client.client_authenticator_type != CERTIFICATE_AUTHENTICATOR:
        return frozenset()
    if template is not None:
        return frozenset({_term("template", template.shape)})
    if registered.alternative_name is not None:
        name = registered.alternative_name
        return frozenset({_term(name.kind, name.value)})
    subject = _registered_subject(client)
    return frozenset() if subject is None else frozenset({_term("subject", str(subject))})


def terms_of_rivals(client: Client) -> frozenset[str]:
    """Return the terms of clients that may own a certificate of this one, but for templates."""
    registered = client.certificate_authentication
    own = certificate_terms(client)
    if not own or client.devices.template is not None:
        return own
    shapes = frozenset[str]()
    if registered.alternative_name is not None:
        shapes = shapes_of_name(registered.alternative_name)
    elif (subject := _registered_subject(client)) is not None:
        shapes = shapes_of_subject(subject)
    return own | {_term("template", shape) for shape in shapes}


def _registered_subject(client: Client) -> DistinguishedName | None:
    """Return the subject of the client's certificates; None where none or a pattern is set."""
    registered = client.certificate_authentication
    if not registered.subject or registered.is_pattern:
        return None
    try:
        return parse_distinguished_name(registered.subject)
    except ValueError:
        return None


def share_certificates(first: Client, second: Client) -> bool:
    """Return whether one certificate can have the names of both clients, in the same field."""
    own, other = first.devices.template, second.devices.template
    if not certificate_terms(first) or not certificate_terms(second):
        return False
    if own is not None and other is not None:
        return own.overlaps(other)
    if own is not None:
        name = second.certificate_authentication.alternative_name
        if name is not None:
            return own.fits_name(name)
        subject = _registered_subject(second)
        return subject is not None and own.fits_subject(subject)
    if other is not None:
        return share_certificates(second, first)
    return not certificate_terms(first).isdisjoint(certificate_terms(second))


def terms_of_certificate(leaf: PresentedCertificate) -> frozenset[str]:
    """Return the terms of the clients that may own the certificate; none for too many names."""
    named = [("dns", name.lower()) for name in leaf.dns_names]
    named += [("uri", name) for name in leaf.uris]
    named += [("ip", name) for name in leaf.ip_addresses]
    named += [("email", canonical_email(name)) for name in leaf.emails]
    if len(named) + sum(1 for _ in subject_parts(leaf.subject)) > MOST_NAMES:
        return frozenset()
    named += [("template", shape) for shape in shapes_of(leaf)]
    return frozenset(_term(*one) for one in [*named, ("subject", str(leaf.subject))])


def _term(kind: str, value: str) -> str:
    """Return a short text for a value of any length."""
    return f"{kind}:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def with_attributes(client: Client, attributes: Mapping[str, str]) -> Client:
    """Return the client with these attributes and the settings that they hold."""
    settings = client_settings(attributes, client.document)
    return replace(client, attributes=attributes, **settings)


def client_settings(
    attributes: Mapping[str, str], document: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return all groups of settings by field of `Client`; those at their defaults are shared."""
    found = _of_document(document)
    for attribute, text in attributes.items():
        if attribute in _SETTINGS:
            group, name, kind = _SETTINGS[attribute]
            found.setdefault(group, {})[name] = kind.parse(text)
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
    for name, group, member, kind in _FIELDS:
        if value := document.get(name):
            found.setdefault(group, {})[member] = kind(value)
    return found


_DEFAULTS: Final[Mapping[str, Any]] = {
    item.name: item.default
    for item in fields(Client)
    if is_dataclass(item.default) and any(each.metadata for each in fields(item.default))
}
"""The groups with settings of attributes."""
_SETTINGS: Final[Mapping[str, tuple[str, str, AttributeValue]]] = {
    name: (group, item.name, kind)
    for group, default in _DEFAULTS.items()
    for item in fields(default)
    for name, kind in item.metadata.items()
}
"""Attribute -> the group and the field that hold its value, and the kind of its values."""
SETTING_ATTRIBUTES: Final = frozenset(_SETTINGS)
"""The attributes that rules read."""
_CHECKED_ONLY: Final = {SECRET_CREATED: INSTANT, ROTATED_CREATED: INSTANT}
"""Attributes that are validated though no rule reads them."""
CHECKS: Final[Mapping[str, ValueCheck]] = {
    **{name: kind.check for name, (_, _, kind) in _SETTINGS.items() if kind.check},
    **{name: kind.check for name, kind in _CHECKED_ONLY.items() if kind.check},
}
"""Attribute -> the check of its text, where any text is refused."""
