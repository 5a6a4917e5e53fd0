"""OAuth clients and their settings."""

from gateway.domain.clients.authenticators import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.clients.authorization import (
    AuthenticationLevels,
    AuthorizationSettings,
    RequestObjectSettings,
)
from gateway.domain.clients.client import OPENID_CONNECT, Client, ProtocolMapper
from gateway.domain.clients.settings import (
    UNREADABLE_TIME,
    CertificateAuthentication,
    ChosenAlgorithm,
    ClientSessionLimits,
    ClientSigning,
    ClientTokens,
    SecretSettings,
)
