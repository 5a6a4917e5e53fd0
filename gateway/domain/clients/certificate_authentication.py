"""Which TLS client certificate authenticates a client. Spec: RFC 8705 §2.1.2."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CertificateAuthentication:
    """The registered subject. Keycloak: `client-x509`."""

    subject: str = ""
    """`x509.subjectdn`: a distinguished name or a pattern; empty matches no certificate."""
    is_pattern: bool = True
    """`x509.allow.regex.pattern.comparison`: the subject is a regular expression."""
