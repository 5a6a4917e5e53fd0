"""A certificate becomes an authority: parsed and checked once, when it is registered."""

from typing import Final

from gateway.domain.authorities import Authority, AuthorityKind
from gateway.domain.certificates import CertificateRefused
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.certificates import AuthorityParser, MalformedCertificate
from gateway.representations.authorities import AuthorityInput
from gateway.representations.refusals import join

_ALLOWED: Final = "one certificate of an authority in PEM"


def new_authority(parser: AuthorityParser, given: AuthorityInput, client: str | None) -> Authority:
    """Return the authority for a client's internal id, or for the realm; raises InvalidInput."""
    try:
        found = parser.parse_authority(given.certificate)
    except (MalformedCertificate, CertificateRefused) as error:
        at = join(given.path, "certificate")
        field = FieldError(at, "a certificate", _ALLOWED, sentence=f"{error}; allowed: {_ALLOWED}")
        raise InvalidInput((field,)) from error
    standard = AuthorityKind.ANCHOR if found.self_signed else AuthorityKind.INTERMEDIATE
    return Authority(found.sha256, given.kind or standard, found.der, client)
