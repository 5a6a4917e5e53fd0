"""The account that a certificate names. Keycloak: 11.2 (26.7)."""

import asyncio
from typing import Final

from gateway.authentication.accounts import Account, Accounts, AmbiguousAttribute
from gateway.authentication.certificate_users.identity import identity_in
from gateway.authentication.engine.sign_in import Config, SignIn
from gateway.authentication.errors import CertificateRejected
from gateway.domain.errors import UnusableSetting
from gateway.domain.flows import CERTIFICATE_SEPARATOR, CertificateOptions, certificate_options

CERTIFICATE_CREDENTIAL: Final = "cert"
"""Keycloak's name of the kind of credential."""
_LONGEST_NAME: Final = 255
"""Characters of an identity in events: that of a whole certificate is longer."""


async def prove_certificate(admitted: bool) -> bool:  # noqa: FBT001 - a callback
    """Return `admitted`: TLS has proved the certificate, the guard decides about the account."""
    return admitted


class CertificateUsers:
    """Finds the account of the certificate of a request."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def find(
        self, sign_in: SignIn, config: Config
    ) -> tuple[Account, str, CertificateOptions]:
        """Return the account, the name for events, and the options of the step.

        The account has no user where no user matches the certificate. Raises
        CertificateRejected or StoreUnavailable.
        """
        options = _options(config)
        identity = await asyncio.to_thread(identity_in, sign_in.context.certificate, options)
        account = await self._account(sign_in, identity, options)
        name = identity[:_LONGEST_NAME] if account.user is None else account.user.username
        return account, name, options

    async def _account(
        self, sign_in: SignIn, identity: str, options: CertificateOptions
    ) -> Account:
        if not options.attributes:
            return await self._accounts.exactly_named(sign_in.realm, identity)
        values = identity.split(CERTIFICATE_SEPARATOR, len(options.attributes) - 1)
        wanted = dict(zip(options.attributes, values, strict=True))
        try:
            return await self._accounts.with_attributes(sign_in.realm.id, wanted)
        except AmbiguousAttribute as error:
            raise CertificateRejected("X509 certificate authentication's failed.") from error


def _options(config: Config) -> CertificateOptions:
    """Return the options; raises CertificateRejected for a step that cannot act."""
    if not config:
        raise CertificateRejected("Configuration is missing.")
    try:
        return certificate_options(config)
    except UnusableSetting as error:
        raise CertificateRejected("Configuration cannot be used.") from error
