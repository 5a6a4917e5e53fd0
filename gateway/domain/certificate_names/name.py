"""Names of client certificates in rules and of clients, compared as parsed names.

    subject:CN=device-1,O=Example     the whole subject, RFC 4514
    dns:device-1.example.org          a DNS name; dns:*.example.org covers one further label
    email:device@example.org          an e-mail address
    uri:spiffe://example.org/device   a URI, character by character
    ip:192.0.2.7                      an IP address, by value
    sha256:<base64url>                the thumbprint, `x5t#S256`

Source: RFC 5280 §4.2.1.6, RFC 6125 §6.4.3, RFC 8705 §2.1.2, §3.1
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from gateway.domain.certificates import PresentedCertificate
from gateway.domain.distinguished_names import (
    DistinguishedName,
    parse_distinguished_name,
    subject_matches,
)

WILDCARD: Final = "*."
_DNS_NAME: Final = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9-]{1,63}")
_THUMBPRINT: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST: Final = 2048


@dataclass(frozen=True, slots=True)
class CertificateName:
    """One name; `kind` is the part before the colon."""

    kind: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the name; raises ValueError, which says what is allowed."""
        kind, colon, value = text.partition(":")
        if not colon or kind not in _CHECKS:
            raise ValueError(f"a name that begins with one of {', '.join(_CHECKS)} and a colon")
        return cls.of_kind(kind, value)

    @classmethod
    def of_kind(cls, kind: str, value: str) -> Self:
        """Return the name with that value; raises ValueError, which says what is allowed."""
        if not value or len(value) > _LONGEST:
            raise ValueError(f"a name of 1 to {_LONGEST} characters")
        return cls(kind, _CHECKS[kind](value))

    def matches(self, certificate: PresentedCertificate) -> bool:
        """Tell whether the certificate has the name, in the field that is meant for its kind."""
        match self.kind:
            case "subject":
                return subject_matches(certificate.subject, self.value, regex=False)
            case "dns":
                return any(self._covers(name.lower()) for name in certificate.dns_names)
            case "email":
                return any(canonical_email(name) == self.value for name in certificate.emails)
            case "uri":
                return self.value in certificate.uris
            case "ip":
                return self.value in certificate.ip_addresses
            case _:
                return self.value == certificate.thumbprint

    def _covers(self, name: str) -> bool:
        if not self.value.startswith(WILDCARD):
            return name == self.value
        label, dot, parent = name.partition(".")
        return bool(label and dot) and label != "*" and parent == self.value[len(WILDCARD) :]


def _subject(value: str) -> str:
    name = parse_distinguished_name(value)
    if name == DistinguishedName():
        raise ValueError("a subject with an attribute")
    return value


def _dns(value: str) -> str:
    if _DNS_NAME.fullmatch(value.lower()) is None:
        raise ValueError("a DNS name, its first label `*` at most")
    return value.lower()


def _email(value: str) -> str:
    local, at, domain = value.rpartition("@")
    if not (local and at and domain):
        raise ValueError("an e-mail address")
    return canonical_email(value)


def canonical_email(value: str) -> str:
    """Return the address with its domain in lower case: the local part may depend on case."""
    local, at, domain = value.rpartition("@")
    return f"{local}{at}{domain.lower()}"


def _uri(value: str) -> str:
    if ":" not in value:
        raise ValueError("an absolute URI")
    return value


def _ip(value: str) -> str:
    """Return the address as `ipaddress` writes it. Spec: RFC 5952."""
    allowed = "an IPv4 or IPv6 address"
    if "%" in value:
        raise ValueError(allowed)
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError(allowed) from None


def _sha256(value: str) -> str:
    if _THUMBPRINT.fullmatch(value) is None:
        raise ValueError("43 characters of base64url")
    return value


_CHECKS: Final[Mapping[str, Callable[[str], str]]] = {
    "subject": _subject,
    "dns": _dns,
    "email": _email,
    "uri": _uri,
    "ip": _ip,
    "sha256": _sha256,
}
