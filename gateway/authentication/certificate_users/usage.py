"""What a step of a flow requires of a certificate besides trust.

Keycloak requires a usage only of a certificate whose extension is critical; here it is required of
every certificate, for a setting that is there has to act.
Keycloak: 11.2 (26.7). Spec: RFC 5280 §4.2.1.3, §4.2.1.4, §4.2.1.12
"""

from typing import Final

from gateway.authentication.errors import CertificateRejected
from gateway.domain.certificates import CertificateUsage
from gateway.domain.flows import CertificateOptions

_SHOWN: Final = 10
"""Policies of a certificate in a refusal, of which it may have thousands."""


def require_usage(usage: CertificateUsage, options: CertificateOptions) -> None:
    """Raise CertificateRejected for a certificate that lacks what the options require."""
    if options.key_usages and usage.key_usages is None:
        raise CertificateRejected("Key usage extension is expected, but unavailable.")
    for name in options.key_usages:
        if name not in (usage.key_usages or ()):
            raise CertificateRejected(f"Key Usage bit '{name}' is not set.")
    if options.extended and not usage.extended:
        raise CertificateRejected("Extended key usage extension is expected, but unavailable")
    for identifier in options.extended:
        if identifier not in usage.extended:
            raise CertificateRejected(f"Extended Key Usage '{identifier}' is missing.")
    if options.policies:
        _require_policies(usage.policies, options)


def _require_policies(found: tuple[str, ...], options: CertificateOptions) -> None:
    if not found:
        raise CertificateRejected(
            "Certificate Policy validation was expected, but no certificate policy extensions were"
            " found"
        )
    missing = [identifier for identifier in options.policies if identifier not in found]
    if options.any_policy and len(missing) == len(options.policies):
        raise CertificateRejected(
            f"Certificate Policy check failed: mode = ANY, found = '{','.join(found[:_SHOWN])}',"
            f" expected = '{','.join(options.policies)}'."
        )
    if missing and not options.any_policy:
        raise CertificateRejected(
            f"Certificate Policy check failed: mode = ALL, certificate policy '{missing[0]}' is"
            " missing."
        )
