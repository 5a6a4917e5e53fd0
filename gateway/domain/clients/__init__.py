"""OAuth clients and their settings."""

from gateway.domain.clients.administrative_reach import (
    EVERY_ADMINISTRATIVE_ROLE,
    EVERYWHERE,
    NO_ADMINISTRATIVE_ROLES,
    OWNER_IN_MASTER,
    OWNER_OF_A_REALM,
    AdministrativeReach,
    RoleKey,
    WithheldRoles,
    administrative_name,
    owns_rights,
)
from gateway.domain.clients.authenticators import (
    CERTIFICATE_AUTHENTICATOR,
    CLIENT_AUTHENTICATORS,
    SELF_SIGNED_METHOD,
    TLS_METHOD,
    WITH_SECRET,
)
from gateway.domain.clients.authorization import (
    ANY_ALGORITHM,
    UNSIGNED,
    AuthenticationLevels,
    AuthorizationSettings,
    DeviceGrantSettings,
    RequestObjectSettings,
    VerificationKeys,
)
from gateway.domain.clients.certificate_index import (
    certificate_terms,
    share_certificates,
    terms_of_certificate,
    terms_of_rivals,
)
from gateway.domain.clients.client import OPENID_CONNECT, Client, ProtocolMapper
from gateway.domain.clients.devices import LONGEST_DEVICE_LOCK, DeviceSettings
from gateway.domain.clients.logout import LogoutSettings
from gateway.domain.clients.redirect_uris import LONGEST_REDIRECT_URI, UNSAFE_SCHEMES, RedirectUris
from gateway.domain.clients.settings import (
    UNREADABLE_TIME,
    CertificateAuthentication,
    ChosenAlgorithm,
    ChosenContentEncryption,
    ChosenKeyManagement,
    ClientAssertions,
    ClientEncryption,
    ClientSessionLimits,
    ClientSigning,
    ClientTokens,
    SecretSettings,
)
