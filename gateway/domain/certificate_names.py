"""Names of client certificates: one name, or a template that the names of many devices fit.

    subject:CN=device-1,O=Example     the whole subject, RFC 4514
    dns:device-1.example.org          a DNS name; dns:*.example.org covers one further label
    email:device@example.org          an e-mail address
    uri:spiffe://example.org/device   a URI, character by character
    ip:192.0.2.7                      an IP address, by value
    sha256:<base64url>                the thumbprint, `x5t#S256`

    spiffe://{trust_domain}/edge/{site}/{device}     template of a URI of the certificate
    {device}.{site}.edge.example                     template of a DNS name of the certificate
    cn:sensor-{device}                               template of one attribute of the subject
    email:{device}@fleet.example                     template of an e-mail address
    uri:urn:dev:mac:{device}                         template of a URI without an authority

Names are compared as parsed. A placeholder of a template matches one whole segment between the
separators: `/` of a URI with an authority, `:` of another, `.` of a DNS name, `@` of an address. In
an attribute of the subject the separator is the character beside the placeholders. Everything else
is compared as written, DNS names and domains of addresses in lower case. There are no expressions,
so a name takes one pass.

The attribute of the subject must be there once and alone in its relative name: which of several
common names an authority has verified, and which a program reads, is not known.
Source: RFC 5280 §4.2.1.6, RFC 6125 §6.4.3, RFC 8705 §2.1, §2.1.2, §3.1; SPIFFE-ID §2
"""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from gateway.domain.certificates import PresentedCertificate
from gateway.domain.distinguished_names import (
    KEYWORDS,
    Attribute,
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


SUBJECT_PARTS: Final[Mapping[str, str]] = {
    "cn": KEYWORDS["CN"],
    "ou": KEYWORDS["OU"],
    "o": KEYWORDS["O"],
    "serialnumber": KEYWORDS["SERIALNUMBER"],
    "uid": KEYWORDS["UID"],
}
"""Attributes of the subject that a template can be for, by the word before its colon."""
_PART_OF: Final = {oid: part for part, oid in SUBJECT_PARTS.items()}
_PARTS: Final = (*SUBJECT_PARTS, "email", "dns", "uri")
_SEPARATORS: Final = ".:/-_@"
"""Characters beside the placeholders of an attribute of the subject."""
_PART_VALUE: Final = re.compile("[A-Za-z0-9._:-]{1,64}")
_PART_LITERAL: Final = re.compile("[A-Za-z0-9._:/@-]([A-Za-z0-9 ._:/@-]{0,126}[A-Za-z0-9._:/@-])?")
_LOCAL_VALUE: Final = re.compile("[A-Za-z0-9._+-]{1,64}")
_LOCAL_LITERAL: Final = re.compile("[A-Za-z0-9._+-]{1,64}")
_DOMAIN: Final = re.compile("[a-z0-9.-]{1,253}")
_OPAQUE_VALUE: Final = re.compile("[A-Za-z0-9._-]{1,64}")
_OPAQUE_LITERAL: Final = re.compile("[A-Za-z0-9._~!$'()*+,;=@-]+")


@dataclass(frozen=True, slots=True)
class CertificateTemplate:
    """A template: literal segments, None for placeholders.

    `part` is where the name stands in certificates: `dns`, `uri`, `email` or one of
    `SUBJECT_PARTS`. `scheme` is that of URIs with an authority.
    """

    text: str
    part: str
    separator: str
    """Empty where the whole name is one placeholder."""
    scheme: str | None
    literals: tuple[str | None, ...]
    names: tuple[str, ...]

    @classmethod
    def parse_template(cls, text: str) -> Self:
        """Return the template; raises ValueError, which says what is allowed."""
        if len(text) > LONGEST_TEMPLATE:
            raise ValueError(f"a template of at most {LONGEST_TEMPLATE} characters")
        part, scheme, rest = _split_template(text)
        separator = _separator_of(part, scheme, rest)
        segments = rest.split(separator) if separator else [rest]
        if len(segments) > MOST_SEGMENTS:
            raise ValueError(f"a template of at most {MOST_SEGMENTS} segments")
        literals = tuple(None if _PLACEHOLDER.fullmatch(one) else one for one in segments)
        if not all(
            one is None or _is_literal(one, part, scheme, number)
            for number, one in enumerate(literals)
        ):
            raise ValueError("a template whose segments are each a literal or one {placeholder}")
        if part == "email" and len(segments) != _PARTS_OF_ADDRESS:
            raise ValueError("a template of an e-mail address, such as email:{device}@example.org")
        names = tuple(found[1] for one in segments if (found := _PLACEHOLDER.fullmatch(one)))
        if not names or len(set(names)) < len(names):
            raise ValueError("a template with at least one placeholder, each only once")
        return cls(text, part, separator, scheme, literals, names)

    @property
    def shape(self) -> str:
        """Part, scheme or separator, and number of segments: only such names can fit."""
        return _shape(self.part, self.scheme, self.separator, len(self.literals))

    def devices(self, certificate: PresentedCertificate) -> tuple[CertifiedDevice, ...]:
        """Return the device of each name of the certificate that fits.

        Where the subject is ambiguous the certificate is of none, but the lock of each counts.
        """
        found = (self._fit(name) for name in self.compared_names(certificate))
        return tuple({one.name: one for one in found if one is not None}.values())

    def ambiguity(self, certificate: PresentedCertificate) -> str | None:
        """Return why the subject of a certificate cannot name a device; None where it can."""
        oid = SUBJECT_PARTS.get(self.part)
        if oid is None:
            return None
        found = [rdn for rdn in certificate.subject.relative_names if _has(rdn, oid)]
        if len(found) > 1 or any(len(rdn) > 1 for rdn in found):
            return f"the subject has {self.part} several times, or beside another attribute"
        return None

    def fits(self, name: str) -> bool:
        """Return whether a device can have the name."""
        return self._fit(name) is not None

    def overlaps(self, other: "CertificateTemplate") -> bool:
        """Return whether a name could fit both templates.

        Of one attribute, templates with different separators count as overlapping.
        """
        if self.part != other.part or self.scheme != other.scheme:
            return False
        if self.separator != other.separator:
            return True
        return len(self.literals) == len(other.literals) and all(
            own is None or theirs is None or own == theirs
            for own, theirs in zip(self.literals, other.literals, strict=True)
        )

    def fits_name(self, name: CertificateName) -> bool:
        """Return whether certificates with a registered name can name a device here."""
        if name.kind == "subject":
            return self.fits_subject(parse_distinguished_name(name.value))
        return name.kind == self.part and self.fits(name.value)

    def fits_subject(self, subject: DistinguishedName) -> bool:
        """Return whether certificates with the subject name a device here."""
        return any(self.fits(value) for value in self._values(subject))

    def compared_names(self, certificate: PresentedCertificate) -> tuple[str, ...]:
        """Return the names of the certificate that are compared with the template."""
        match self.part:
            case "dns":
                return tuple(name.lower() for name in certificate.dns_names)
            case "uri":
                return certificate.uris
            case "email":
                return tuple(canonical_email(name) for name in certificate.emails)
            case _:
                return self._values(certificate.subject)

    def _values(self, subject: DistinguishedName) -> tuple[str, ...]:
        return tuple(value for part, value in subject_parts(subject) if part == self.part)

    def _fit(self, name: str) -> CertifiedDevice | None:
        rest = name
        if self.scheme is not None:
            scheme, end, rest = name.partition(_SCHEME_END)
            if scheme != self.scheme or not end:
                return None
        segments = rest.split(self.separator) if self.separator else [rest]
        if len(segments) != len(self.literals):
            return None
        values: list[str] = []
        for number, (literal, segment) in enumerate(zip(self.literals, segments, strict=True)):
            if literal is not None:
                if segment != literal:
                    return None
            elif not self._is_value(segment, number):
                return None
            else:
                values.append(segment)
        return CertifiedDevice(name, dict(zip(self.names, values, strict=True)))

    def _is_value(self, segment: str, number: int) -> bool:
        match self.part:
            case "dns":
                allowed = _DNS_VALUE
            case "uri":
                allowed = _URI_VALUE if self.scheme is not None else _OPAQUE_VALUE
            case "email":
                allowed = _DOMAIN if number else _LOCAL_VALUE
            case _:
                allowed = _PART_VALUE
        return allowed.fullmatch(segment) is not None and segment not in _DOTS


def shapes_of(certificate: PresentedCertificate) -> frozenset[str]:
    """Return the shapes of the templates that a name of the certificate could fit."""
    found = {_shape("dns", None, ".", name.count(".") + 1) for name in certificate.dns_names}
    for uri in certificate.uris:
        found |= _shapes_of_uri(uri)
    if certificate.emails:
        found.add(_shape("email", None, "@", _PARTS_OF_ADDRESS))
    return frozenset(found) | shapes_of_subject(certificate.subject)


def shapes_of_subject(subject: DistinguishedName) -> frozenset[str]:
    """Return the shapes of the templates that an attribute of the subject could fit."""
    return frozenset(
        _shape(part, None, separator, value.count(separator) + 1 if separator else 1)
        for part, value in subject_parts(subject)
        for separator in ("", *_SEPARATORS)
        if not separator or separator in value
    )


def shapes_of_name(name: CertificateName) -> frozenset[str]:
    """Return the shapes of the templates that a registered name could fit."""
    match name.kind:
        case "dns":
            return frozenset({_shape("dns", None, ".", name.value.count(".") + 1)})
        case "uri":
            return _shapes_of_uri(name.value)
        case "email":
            return frozenset({_shape("email", None, "@", _PARTS_OF_ADDRESS)})
        case "subject":
            return shapes_of_subject(parse_distinguished_name(name.value))
        case _:
            return frozenset()


_PARTS_OF_ADDRESS: Final = 2


def _shapes_of_uri(uri: str) -> frozenset[str]:
    scheme, end, rest = uri.partition(_SCHEME_END)
    if end:
        return frozenset({_shape("uri", scheme, "/", rest.count("/") + 1)})
    return frozenset({_shape("uri", None, ":", uri.count(":") + 1)})


def subject_parts(subject: DistinguishedName) -> Iterator[tuple[str, str]]:
    """Yield part and text of every attribute that a template can be for."""
    for attribute in subject.attributes:
        part = _PART_OF.get(attribute.oid)
        if part is not None and isinstance(attribute.value, str):
            yield part, attribute.value


def _has(rdn: tuple[Attribute, ...], oid: str) -> bool:
    return any(attribute.oid == oid for attribute in rdn)


def _split_template(text: str) -> tuple[str, str | None, str]:
    """Return part, scheme and the rest of a template."""
    word, colon, rest = text.partition(":")
    if colon and word.lower() in _PARTS and not rest.startswith("//"):
        part = word.lower()
    else:
        part, rest = "uri" if _SCHEME_END in text else "dns", text
    if part != "uri":
        return part, None, rest
    head, end, behind = rest.partition(_SCHEME_END)
    if not end:
        return part, None, rest
    if _SCHEME.fullmatch(head) is None:
        raise ValueError("a template that begins with a lower-case scheme, such as spiffe://")
    return part, head, behind


def _separator_of(part: str, scheme: str | None, text: str) -> str:
    match part:
        case "dns":
            return "."
        case "uri":
            return ":" if scheme is None else "/"
        case "email":
            return "@"
        case _:
            beside = {sign for pair in _BESIDE.findall(text) for sign in pair if sign}
            if len(beside) > 1 or not beside <= set(_SEPARATORS):
                raise ValueError(
                    "a template with one of the separators . : / - _ @ beside its placeholders"
                )
            return "".join(beside)


_BESIDE: Final = re.compile(r"(?=(^|.)\{[^{}]*\}(.|$))", re.DOTALL)
"""The characters beside each placeholder."""


def _shape(part: str, scheme: str | None, separator: str, segments: int) -> str:
    # Those of the first two kinds are stored since before the others were there.
    if part == "dns":
        return f"dns:{segments}"
    if part == "uri":
        return f"uri::{segments}" if scheme is None else f"uri:{scheme}:{segments}"
    return f"{part}:{separator}:{segments}"


def _is_literal(segment: str, part: str, scheme: str | None, number: int) -> bool:
    match part:
        case "dns":
            allowed = _DNS_LITERAL
        case "uri":
            allowed = _OPAQUE_LITERAL if scheme is None else _URI_LITERAL
        case "email":
            allowed = _DOMAIN if number else _LOCAL_LITERAL
        case _:
            allowed = _PART_LITERAL
    return allowed.fullmatch(segment) is not None and segment not in _DOTS
