"""OAuth clients as the rules see them.

Keycloak: ClientRepresentation. The whole representation is kept in `document`, so that fields
without a rule of their own are returned unchanged; the typed fields are what rules read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.clients.administrative_reach import NO_ADMINISTRATIVE_ROLES, AdministrativeReach
from gateway.domain.clients.authorization import (
    AuthenticationLevels,
    AuthorizationSettings,
    DeviceGrantSettings,
    RequestObjectSettings,
    VerificationKeys,
)
from gateway.domain.clients.devices import DeviceSettings
from gateway.domain.clients.display import ClientDisplay
from gateway.domain.clients.logout import LogoutSettings
from gateway.domain.clients.redirect_uris import RedirectUris
from gateway.domain.clients.settings import (
    CertificateAuthentication,
    ClientAssertions,
    ClientEncryption,
    ClientSessionLimits,
    ClientSigning,
    ClientTokens,
    SecretSettings,
)
from gateway.domain.secrets import Secret

OPENID_CONNECT: Final = "openid-connect"
# Clients at the defaults share one value.
_DISPLAY: Final = ClientDisplay()
_TOKENS: Final = ClientTokens()
_SIGNING: Final = ClientSigning()
_ENCRYPTION: Final = ClientEncryption()
_SESSION_LIMITS: Final = ClientSessionLimits()
_CERTIFICATE: Final = CertificateAuthentication()
_DEVICES: Final = DeviceSettings()
_SECRETS: Final = SecretSettings()
_ASSERTIONS: Final = ClientAssertions()
_AUTHORIZATION: Final = AuthorizationSettings()
_DEVICE_GRANT: Final = DeviceGrantSettings()
_LEVELS: Final = AuthenticationLevels()
_REQUEST_OBJECTS: Final = RequestObjectSettings()
_VERIFICATION: Final = VerificationKeys()
_REDIRECTS: Final = RedirectUris()
_LOGOUT: Final = LogoutSettings()


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

    `document` is the JSON object of the representation without the secret, `attributes` what
    stands there under that name. Only `representations` reads or writes them: rules read the
    groups of settings that were parsed from `attributes`.
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
    tokens: ClientTokens = _TOKENS
    signing: ClientSigning = _SIGNING
    encryption: ClientEncryption = _ENCRYPTION
    session_limits: ClientSessionLimits = _SESSION_LIMITS
    certificate_authentication: CertificateAuthentication = _CERTIFICATE
    devices: DeviceSettings = _DEVICES
    secret_settings: SecretSettings = _SECRETS
    assertions: ClientAssertions = _ASSERTIONS
    redirects: RedirectUris = _REDIRECTS
    logout: LogoutSettings = _LOGOUT
    authorization: AuthorizationSettings = _AUTHORIZATION
    device_grant: DeviceGrantSettings = _DEVICE_GRANT
    levels: AuthenticationLevels = _LEVELS
    request_objects: RequestObjectSettings = _REQUEST_OBJECTS
    verification_keys: VerificationKeys = _VERIFICATION
    display: ClientDisplay = _DISPLAY
    flow_overrides: Mapping[str, str] = field(default_factory=dict)
    """Ids of flows that replace the realm's, by use: `browser` and `direct_grant`."""
    protocol_mappers: tuple[ProtocolMapper, ...] = ()
    reach: AdministrativeReach = NO_ADMINISTRATIVE_ROLES
    """The administrative roles of users that its tokens may carry; no document changes that."""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
