"""OAuth clients and their settings."""

from gateway.domain.clients.certificate_authentication import CertificateAuthentication
from gateway.domain.clients.client import OPENID_CONNECT, Client, ProtocolMapper
from gateway.domain.clients.secrets import UNREADABLE_TIME, SecretSettings
from gateway.domain.clients.session_limits import ClientSessionLimits
from gateway.domain.clients.signing import ChosenAlgorithm, ClientSigning
from gateway.domain.clients.token_settings import ClientTokens
