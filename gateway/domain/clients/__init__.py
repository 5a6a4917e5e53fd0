"""OAuth clients and their settings."""

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
