"""OAuth clients and their settings."""

from gateway.domain.clients.authenticators import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.clients.authorization import (
    ANY_ALGORITHM,
    UNSIGNED,
    AuthenticationLevels,
    AuthorizationSettings,
    DeviceGrantSettings,
    RequestObjectSettings,
    VerificationKeys,
)
from gateway.domain.clients.client import OPENID_CONNECT, Client, ProtocolMapper
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
