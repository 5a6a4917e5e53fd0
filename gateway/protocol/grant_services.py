"""What grants are made with."""

from dataclasses import dataclass

from gateway.authentication.engine import SignInEngine
from gateway.authentication.validity import Validity
from gateway.domain.ports.client_encryption import ClientEncrypters
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.sign_in.authorization_codes import AuthorizationCodeStore
from gateway.domain.ports.sign_in.device_authorizations import DeviceAuthorizationStore
from gateway.domain.ports.storage import Database
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_results.consents import Consents
from gateway.protocol.tokens import AccessTokens, RefreshTokens


@dataclass(frozen=True, slots=True)
class GrantServices:
    """Each grant takes what it needs of these."""

    directory: Directory
    database: Database
    sessions: Sessions
    validity: Validity
    sign_in_engine: SignInEngine
    refresh_tokens: RefreshTokens
    authorization_codes: AuthorizationCodeStore
    device_authorizations: DeviceAuthorizationStore
    consents: Consents
    encryption: ClientEncrypters
    constraint: SenderConstraint
    access_tokens: AccessTokens
