"""`direct-grant-auth-x509-username`: the certificate of the TLS client names the user.

Only a certificate that is trusted in the realm counts. Keycloak: 11.2
"""

from typing import ClassVar

from gateway.authentication.certificate_users import (
    CERTIFICATE_CREDENTIAL,
    CertificateUsers,
    prove_certificate,
)
from gateway.authentication.engine.sign_in import (
    Config,
    Result,
    SecretCheck,
    SignIn,
    WithoutForm,
)
from gateway.domain.flows import CERTIFICATE


class CertificateUsername(WithoutForm):
    """Finds the user of the certificate; a locked account is refused as one without a password."""

    id: ClassVar = CERTIFICATE

    def __init__(self, users: CertificateUsers) -> None:
        self._users = users

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the check of the account; raises CertificateRejected."""
        account, name, _ = await self._users.find(sign_in, config)
        sign_in.identify(account, name)
        return SecretCheck(CERTIFICATE_CREDENTIAL, prove_certificate)
