"""Certificate policies: for which of them a path is valid.

Policies are not mapped: a path over an authority with critical mappings is refused, and others are
ignored. So the tree of the standard is a set: each node expects one policy, its own.
Spec: RFC 5280 §6.1.2 to §6.1.5, §4.2.1.4 (policies), §4.2.1.11, §4.2.1.14 (constraints)
"""

from collections.abc import Sequence
from typing import Final

from cryptography import x509

from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.certificates import CertificateRefused

_ANY: Final = "2.5.29.32.0"


def require_policies(path: Sequence[ParsedCertificate], required: frozenset[str]) -> None:
    """Raise CertificateRefused unless the path is valid for one of `required`, if any are.

    `path` begins with the leaf and ends with the anchor.
    """
    *below, anchor = path
    state = _PolicyState(required, len(below))
    state.constrain(anchor)
    for certificate in reversed(below[1:]):
        state.process(certificate, may_be_any=certificate.is_self_issued)
        if not certificate.is_self_issued:
            state.count_down()
        state.constrain(certificate)
    if below:
        state.process(below[0], may_be_any=False)
        state.finish(below[0])


class _PolicyState:
    def __init__(self, required: frozenset[str], length: int) -> None:
        self._required = required
        self._valid: set[str] = {_ANY}
        self._explicit = 0 if required else length + 1
        """Certificates until the path must have a valid policy."""
        self._inhibit_any = length + 1
        """Certificates until anyPolicy means no policy."""

    def process(self, certificate: ParsedCertificate, *, may_be_any: bool) -> None:
        """Keep the policies that the certificate has too. Spec: RFC 5280 §6.1.3 (d) to (f)."""
        named = _policies(certificate)
        any_named = _ANY in named and (self._inhibit_any > 0 or may_be_any)
        kept = (named - {_ANY}) if _ANY in self._valid else named & self._valid
        self._valid = kept | self._valid if any_named else kept - {_ANY}
        self._require(certificate)

    def count_down(self) -> None:
        """Spec: RFC 5280 §6.1.4 (h)."""
        self._explicit = max(0, self._explicit - 1)
        self._inhibit_any = max(0, self._inhibit_any - 1)

    def constrain(self, authority: ParsedCertificate) -> None:
        """Note what the authority demands below it. Spec: RFC 5280 §6.1.4 (i), (j)."""
        constraints = authority.extension(x509.PolicyConstraints)
        if constraints is not None and constraints.require_explicit_policy is not None:
            self._explicit = min(self._explicit, constraints.require_explicit_policy)
        inhibit = authority.extension(x509.InhibitAnyPolicy)
        if inhibit is not None:
            self._inhibit_any = min(self._inhibit_any, inhibit.skip_certs)

    def finish(self, leaf: ParsedCertificate) -> None:
        """Require one of the policies of the realm. Spec: RFC 5280 §6.1.5 (a), (b), (g)."""
        self._explicit = max(0, self._explicit - 1)
        constraints = leaf.extension(x509.PolicyConstraints)
        if constraints is not None and constraints.require_explicit_policy == 0:
            self._explicit = 0
        if self._required and _ANY not in self._valid:
            self._valid &= self._required
        self._require(leaf)

    def _require(self, certificate: ParsedCertificate) -> None:
        if self._explicit == 0 and not self._valid:
            who = "the realm" if self._required else "an authority"
            raise CertificateRefused(
                f"{who} requires a certificate policy that the path to {certificate.subject} lacks"
            )


def _policies(certificate: ParsedCertificate) -> set[str]:
    found = certificate.extension(x509.CertificatePolicies)
    listed = [] if found is None else [item.policy_identifier.dotted_string for item in found]
    named = set(listed)
    if len(named) < len(listed):
        raise CertificateRefused(f"{certificate.subject} lists a certificate policy twice")
    return named
