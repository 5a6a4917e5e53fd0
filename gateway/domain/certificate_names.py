"""Names of client certificates: one name, or a template that the names of many devices fit.

    subject:CN=device-1,O=Example     the whole subject, RFC 4514
    dns:device-1.example.org          a DNS name; dns:*.example.org covers one further label
    email:device@example.org          an e-mail address
    uri:spiffe://example.org/device   a URI, character by character
    ip:192.0.2.7                      an IP address, by value
    sha256:<base64url>                the thumbprint, `x5t#S256`

    spiffe://{trust_domain}/edge/{site}/{device}     template of a URI of the certificate
    {device}.{site}.edge.example                     template of a DNS name of the certificate

Names are compared as parsed. A placeholder of a template matches one whole segment between the
separators, `/` or `.`. Everything else is compared as written, DNS names in lower case. There are
no expressions, so a name takes one pass.
Source: RFC 5280 §4.2.1.6, RFC 6125 §6.4.3, RFC 8705 §2.1, §2.1.2, §3.1; SPIFFE-ID §2
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    def parse_name(cls, text: str) -> Self:
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


LONGEST_TEMPLATE: Final = 512
LONGEST_DEVICE_NAME: Final = 2048
MOST_SEGMENTS: Final = 16
DEVICE_CLAIM: Final = "realmgate_device"
"""The claim with the whole name of the device, by which it is locked."""
RESERVED_CLAIMS: Final = frozenset(
    {
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "typ", "azp", "scope", "sid", "cnf"),
        *("acr", "amr", "auth_time", "nonce", "at_hash", "c_hash", "s_hash", "act", "may_act"),
        *("realm_access", "resource_access", "allowed-origins", "authorization", "events"),
        *("session_state", "client_id", "active", "username", "token_type", "jwt", "prov"),
        *("aud_x", "reuse_id", "roles", "groups", "preferred_username", "email", "name"),
        *("email_verified", "given_name", "family_name", "permissions", DEVICE_CLAIM),
        *("realmgate_issued_serial", "realmgate_renewal", "aud_only", "realmgate_without_roles"),
        "realmgate_twin_thumbprint",
    }
)
"""Claims that a placeholder cannot become: they say who the subject is and what it may do."""
CLAIM_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SCHEME_END: Final = "://"
_SCHEME: Final = re.compile("[a-z][a-z0-9+.-]{0,31}")
_PLACEHOLDER: Final = re.compile(r"\{([a-z][a-z0-9_]{0,31})\}")
_URI_LITERAL: Final = re.compile("[A-Za-z0-9._~!$&'()*+,;=:@-]+")
_DNS_LITERAL: Final = re.compile("[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_URI_VALUE: Final = re.compile("[A-Za-z0-9._-]{1,64}")
_DNS_VALUE: Final = re.compile("[a-z0-9_-]{1,63}")
_DOTS: Final = frozenset({".", ".."})


@dataclass(frozen=True, slots=True)
class CertifiedDevice:
    """The device of a certificate: its whole name, and the values of the placeholders."""

    name: str
    values: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, slots=True)
class CertificateTemplate:
    """A template: literal segments, None for placeholders. `scheme` is None for DNS names."""

    text: str
    scheme: str | None
    literals: tuple[str | None, ...]
    names: tuple[str, ...]

    @classmethod
    def parse_template(cls, text: str) -> Self:
        """Return the template; raises ValueError, which says what is allowed."""
        if len(text) > LONGEST_TEMPLATE:
            raise ValueError(f"a template of at most {LONGEST_TEMPLATE} characters")
        head, end, rest = text.partition(_SCHEME_END)
        scheme = head if end else None
        if scheme is not None and _SCHEME.fullmatch(scheme) is None:
            raise ValueError("a template that begins with a lower-case scheme, such as spiffe://")
        segments = (text if scheme is None else rest).split(_separator(scheme))
        if len(segments) > MOST_SEGMENTS:
            raise ValueError(f"a template of at most {MOST_SEGMENTS} segments")
        literals = tuple(None if _PLACEHOLDER.fullmatch(one) else one for one in segments)
        if not all(one is None or _is_literal(one, scheme) for one in literals):
            raise ValueError("a template whose segments are each a literal or one {placeholder}")
        names = tuple(found[1] for one in segments if (found := _PLACEHOLDER.fullmatch(one)))
        if not names or len(set(names)) < len(names):
            raise ValueError("a template with at least one placeholder, each only once")
        return cls(text, scheme, literals, names)

    @property
    def shape(self) -> str:
        """The scheme and the number of segments: only names of the same shape can fit."""
        return _shape(self.scheme, len(self.literals))

    def devices(self, certificate: PresentedCertificate) -> tuple[CertifiedDevice, ...]:
        """Return the device of each alternative name of the certificate that fits."""
        found = (self._fit(name) for name in self._candidates(certificate))
        return tuple({one.name: one for one in found if one is not None}.values())

    def fits(self, name: str) -> bool:
        """Return whether a device can have the name."""
        return self._fit(name) is not None

    def overlaps(self, other: "CertificateTemplate") -> bool:
        """Return whether a name could fit both templates."""
        return self.shape == other.shape and all(
            own is None or theirs is None or own == theirs
            for own, theirs in zip(self.literals, other.literals, strict=True)
        )

    def fits_name(self, name: CertificateName) -> bool:
        """Return whether a registered name, of a kind that templates describe, fits."""
        kind = "dns" if self.scheme is None else "uri"
        return name.kind == kind and self.fits(name.value)

    def _candidates(self, certificate: PresentedCertificate) -> tuple[str, ...]:
        if self.scheme is None:
            return tuple(name.lower() for name in certificate.dns_names)
        return certificate.uris

    def _fit(self, name: str) -> CertifiedDevice | None:
        scheme, segments = _segments(name, is_uri=self.scheme is not None)
        if scheme != self.scheme or len(segments) != len(self.literals):
            return None
        value = _DNS_VALUE if self.scheme is None else _URI_VALUE
        values: list[str] = []
        for literal, segment in zip(self.literals, segments, strict=True):
            if literal is not None:
                if segment != literal:
                    return None
            elif value.fullmatch(segment) is None or segment in _DOTS:
                return None
            else:
                values.append(segment)
        return CertifiedDevice(name, dict(zip(self.names, values, strict=True)))


def shapes_of(certificate: PresentedCertificate) -> frozenset[str]:
    """Return the shapes of the templates that a name of the certificate could fit."""
    named = [(name.lower(), False) for name in certificate.dns_names]
    named += [(uri, True) for uri in certificate.uris]
    found = (_segments(name, is_uri=is_uri) for name, is_uri in named)
    return frozenset(_shape(scheme, len(segments)) for scheme, segments in found)


def shape_of_name(name: CertificateName) -> str | None:
    """Return the shape of the templates that a registered name could fit; None for other kinds."""
    if name.kind not in {"dns", "uri"}:
        return None
    scheme, segments = _segments(name.value, is_uri=name.kind == "uri")
    return _shape(scheme, len(segments))


def _segments(name: str, *, is_uri: bool) -> tuple[str | None, list[str]]:
    if not is_uri:
        return None, name.split(".")
    scheme, _, rest = name.partition(_SCHEME_END)
    return scheme, rest.split("/")


def _separator(scheme: str | None) -> str:
    return "." if scheme is None else "/"


def _shape(scheme: str | None, segments: int) -> str:
    return f"dns:{segments}" if scheme is None else f"uri:{scheme}:{segments}"


def _is_literal(segment: str, scheme: str | None) -> bool:
    if scheme is None:
        return _DNS_LITERAL.fullmatch(segment) is not None
    return _URI_LITERAL.fullmatch(segment) is not None and segment not in _DOTS
