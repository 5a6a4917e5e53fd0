"""`direct-grant-auth-x509-username`: the certificate of the TLS client names the user.

Only a certificate that is trusted in the realm counts. Keycloak: 11.2
"""

import asyncio
import re
from collections.abc import Iterable
from typing import ClassVar, Final

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.sign_in import (
    Config,
    Result,
    SecretCheck,
    SignIn,
    WithoutForm,
)
from gateway.authentication.errors import CertificateRejected
from gateway.domain.certificates import ClientCertificate, PresentedCertificate
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.flows import (
    CERTIFICATE,
    CertificateOptions,
    IdentitySource,
    certificate_options,
)
from gateway.domain.limits.patterns import matches_with_group

_EMAIL_ADDRESS: Final = "1.2.840.113549.1.9.1"
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CREDENTIAL: Final = "cert"
"""Keycloak's name of the kind of credential."""


class CertificateUsername(WithoutForm):
    """Finds the user of the certificate; a locked account is refused as one without a password."""

    id: ClassVar = CERTIFICATE

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the check of the account; raises CertificateRejected."""
        options = certificate_options(config)
        name = await asyncio.to_thread(identity_in, sign_in.context.certificate, options)
        account = await self._accounts.named(sign_in.realm, name)
        sign_in.identify(account, name)
        return SecretCheck(_CREDENTIAL, lambda admitted: _may_sign_in(account, admitted))


async def _may_sign_in(account: Account, admitted: bool) -> bool:  # noqa: FBT001 - a callback
    return admitted and account.may_sign_in


def identity_in(certificate: ClientCertificate | None, options: CertificateOptions) -> str:
    """Return the user name or e-mail address; raises CertificateRejected.

    To be called in a thread: a pattern takes up to 30 ms.
    """
    if certificate is None or not certificate.binds:
        raise CertificateRejected("X509 client certificate is missing.")
    if not certificate.identifies:
        raise CertificateRejected("Certificate validation's failed.")
    identity = _identity(certificate.leaf, options)
    if not identity:
        raise CertificateRejected("Unable to extract user identity from specified certificate")
    return identity


def _identity(leaf: PresentedCertificate, options: CertificateOptions) -> str | None:
    match options.source:
        case IdentitySource.SUBJECT:
            return _matched(options.pattern, leaf.subject.legacy_rendering())
        case IdentitySource.ISSUER:
            return _matched(options.pattern, leaf.issuer.legacy_rendering())
        case IdentitySource.EMAIL:
            return _only(_values(leaf.subject, _EMAIL_ADDRESS))
        case IdentitySource.COMMON_NAME:
            return _only(leaf.subject.common_names)
        case IdentitySource.ALTERNATIVE_EMAIL:
            return _only(leaf.emails)
        case IdentitySource.PRINCIPAL_NAME:
            return _only(leaf.principal_names)
        case IdentitySource.SERIAL_NUMBER:
            return f"{leaf.serial:x}" if options.hexadecimal else str(leaf.serial)
        case IdentitySource.THUMBPRINT:
            return leaf.digest.hex()


def _matched(pattern: str, name: str) -> str | None:
    """Return the first group of the pattern's matches; None where they differ.

    None also where it is a piece of a quoted value: `OU="CN=admin,"` is no common name (attacks:
    A15).
    """
    found = matches_with_group(pattern, name)
    quoted = [match.span() for match in _QUOTED.finditer(name)]
    if any(_is_piece(match.span(1), value) for match in found for value in quoted):
        return None
    return _only({match[1] for match in found})


def _is_piece(group: tuple[int, int], quoted: tuple[int, int]) -> bool:
    """Tell whether a group has some of a quoted value, and not all of it."""
    (begin, end), (first, last) = group, quoted
    apart = end <= first or last <= begin
    return not apart and not (begin <= first + 1 and last - 1 <= end)


def _values(name: DistinguishedName, oid: str) -> Iterable[str | bytes]:
    return (attribute.value for attribute in name.attributes if attribute.oid == oid)


def _only(values: Iterable[str | bytes]) -> str | None:
    """Return the only value; None where there is none, several, or one that is not text."""
    found = tuple(values)
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None
