"""Which certificates a partial revocation list is about, by its issuing distribution point.

An issuer that has too many certificates for one list divides them: by kind, or by the address of
the list that each certificate names. Spec: RFC 5280 §5.2.5, §6.3.3 (b) (2)
"""

from dataclasses import dataclass, field

from cryptography import x509


@dataclass(frozen=True, slots=True)
class ListScope:
    """The certificates that a list is about.

    `names` are those of the distribution point that a certificate must name, one of them; None:
    any. `unusable` says why the list can be used for no certificate.
    """

    names: frozenset[x509.GeneralName] | None = field(default=None, repr=False)
    users_only: bool = False
    authorities_only: bool = False
    unusable: str | None = None

    def covers(self, names: frozenset[x509.GeneralName], *, authority: bool) -> bool:
        """Tell whether the list is about a certificate whose distribution point has these names.

        `authority` says whether the certificate is that of an authority.
        """
        if (authority and self.users_only) or (not authority and self.authorities_only):
            return False
        return self.names is None or not self.names.isdisjoint(names)


def scope_of(header: x509.CertificateRevocationList) -> ListScope | None:
    """Return the scope of a list; None where it is about all certificates of its issuer.

    Raises an error of `gateway.crypto.x509.parse.UNREADABLE` where the extensions cannot be read.
    """
    try:
        point = header.extensions.get_extension_for_class(x509.IssuingDistributionPoint).value
    except x509.ExtensionNotFound:
        return None
    return ListScope(
        None if point.full_name is None else frozenset(point.full_name),
        users_only=point.only_contains_user_certs,
        authorities_only=point.only_contains_ca_certs,
        unusable=_unusable(point),
    )


def _unusable(point: x509.IssuingDistributionPoint) -> str | None:
    if point.indirect_crl:
        return "it is indirect"
    if point.only_some_reasons is not None:
        return "it names only what was revoked for some reasons"
    if point.only_contains_attribute_certs:
        return "it is about attribute certificates"
    if point.relative_name is not None:
        return "its distribution point has a name relative to its issuer"
    return None
