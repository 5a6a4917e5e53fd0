"""The addresses of revocation lists that a certificate names.

Spec: RFC 5280 §4.2.1.13, §6.3.3
"""

from dataclasses import dataclass, field
from typing import Final

from cryptography import x509

from gateway.crypto.x509.parse import ParsedCertificate

MOST_URLS: Final = 3
"""Addresses of one certificate that lists are downloaded from; further ones do not count."""
_MOST_NAMES: Final = 20
"""Names of one point that are compared with those of a list."""
_LONGEST_URL: Final = 2048
_SCHEMES: Final = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class DistributionPoint:
    """Where one list is; all `urls` lead to the same one. `names` are those that it may have."""

    urls: tuple[str, ...]
    names: frozenset[x509.GeneralName] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CertificatePoints:
    """What a certificate says of its lists.

    `problem` says why none can be downloaded; None for a certificate that names no point at all.
    """

    points: tuple[DistributionPoint, ...] = ()
    problem: str | None = None
    authority: bool = False
    """Whether the certificate is that of an authority."""

    @property
    def are_named(self) -> bool:
        """Tell whether the certificate names a point, whether it can be used or not."""
        return bool(self.points) or self.problem is not None

    @property
    def urls(self) -> tuple[str, ...]:
        """All addresses, each once."""
        return tuple(dict.fromkeys(url for point in self.points for url in point.urls))


def distribution_points_of(certificate: ParsedCertificate) -> CertificatePoints:
    """Return the points of a certificate, in its order, with MOST_URLS addresses together."""
    constraints = certificate.extension(x509.BasicConstraints)
    authority = constraints is not None and constraints.ca
    named = certificate.extension(x509.CRLDistributionPoints)
    if named is None:
        return CertificatePoints(authority=authority)
    points: list[DistributionPoint] = []
    problem, free = "its distribution points name no http address", MOST_URLS
    for each in named:
        unusable = _unusable(each)
        if unusable is not None:
            problem = unusable
            continue
        urls = _urls(each)[:free]
        if urls:
            free -= len(urls)
            points.append(DistributionPoint(urls, frozenset((each.full_name or ())[:_MOST_NAMES])))
    return CertificatePoints(tuple(points), None if points else problem, authority)


def _unusable(point: x509.DistributionPoint) -> str | None:
    if point.crl_issuer is not None:
        return "its distribution point leads to an indirect list"
    if point.reasons is not None:
        return "its distribution point names only what was revoked for some reasons"
    return None


def _urls(point: x509.DistributionPoint) -> tuple[str, ...]:
    values = (
        name.value
        for name in point.full_name or ()
        if isinstance(name, x509.UniformResourceIdentifier)
    )
    found = (
        value
        for value in values
        if len(value) <= _LONGEST_URL and value.lower().startswith(_SCHEMES)
    )
    return tuple(dict.fromkeys(found))
