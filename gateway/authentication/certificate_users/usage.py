"""What a step of a flow requires of a certificate besides trust.

Keycloak requires a usage only of a certificate whose extension is critical; here it is required of
every certificate, for a setting that is there has to act.
Keycloak: 11.2 (26.7). Spec: RFC 5280 §4.2.1.3, §4.2.1.4, §4.2.1.12
"""

from gateway.authentication.errors import CertificateRejected
from gateway.domain.certificates import CertificateUsage
from gateway.domain.flows import CertificateOptions


def require_usage(usage: CertificateUsage, options: CertificateOptions) -> None:
    """Raise CertificateRejected for a certificate that lacks what the options require."""
    if options.key_usages and usage.key_usages is None:
        raise CertificateRejected("Key usage extension is expected, but unavailable.")
    for name in options.key_usages:
        if name not in (usage.key_usages or ()):
            raise CertificateRejected(f"Key Usage bit '{name}' is not set.")
    for identifier in options.extended:
        if identifier not in usage.extended:
            raise CertificateRejected(f"Extended Key Usage '{identifier}' is missing.")
    if options.policies and not _has_policies(usage, options):
        raise CertificateRejected("Certificate policy is missing.")


def _has_policies(usage: CertificateUsage, options: CertificateOptions) -> bool:
    found = [identifier in usage.policies for identifier in options.policies]
    return any(found) if options.any_policy else all(found)
