"""The names and certificate policies that the authorities of a path permit.

Name constraints: the names that an authority, and all below it, may issue certificates for.

Names of a kind without a rule here are refused as soon as a constraint of their kind applies, and
so are names that two readers may read differently. As in OpenSSL, a common name that looks like a
host counts as one where the leaf has no DNS names. Spec: RFC 5280 §4.2.1.10, §6.1.3 (b), (c), §7.1

Certificate policies: for which of them a path is valid.

Policies are not mapped: a path over an authority with critical mappings is refused, and others are
ignored. So the tree of the standard is a set: each node expects one policy, its own. Spec: RFC 5280
§6.1.2 to §6.1.5, §4.2.1.4 (policies), §4.2.1.11, §4.2.1.14 (constraints)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final

from cryptography import x509

from gateway.crypto.x509.parse import ParsedCertificate, encoded_name
from gateway.domain.certificates import CertificateRefused
from gateway.domain.distinguished_names import Attribute, DistinguishedName

MOST_COMPARISONS: Final = 16_384
"""Of one path, about 10 ms. A certificate of 64 kB may have thousands of names or constraints."""
_EMAIL_ADDRESS: Final = "1.2.840.113549.1.9.1"
_LABEL: Final = "[A-Za-z0-9_-]{1,63}"
_HOST: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.ASCII)
_DNS_NAME: Final = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*", re.ASCII)
_DNS_CONSTRAINT: Final = re.compile(rf"(\.?{_LABEL}(\.{_LABEL})*)?", re.ASCII)
_HOST_CONSTRAINT: Final = re.compile(rf"\.?{_LABEL}(\.{_LABEL})*", re.ASCII)
_COMMON_NAME_AS_HOST: Final = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})+", re.ASCII)
_URI: Final = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*://({_LABEL}(?:\.{_LABEL})*)(:\d*)?([/?#].*)?")
_SPACES: Final = re.compile(r"\s+")

_Kind = type[x509.GeneralName] | str
"""The class of a name; the type identifier for those of another type (OtherName)."""
_Name = tuple[_Kind, Any]


class _Ambiguous(Exception):
    """A name or a constraint of a form for which the standard has no rule."""


class NameConstraints:
    """The constraints of the authorities of one path, from the anchor down."""

    def __init__(self) -> None:
        self._constraints: list[tuple[str, tuple[_Name, ...], tuple[_Name, ...]]] = []
        """Subject of the authority, permitted and excluded names."""
        self._comparisons = 0

    def add_authority(self, authority: ParsedCertificate) -> None:
        """Constrain the certificates below `authority` too, if it says so."""
        found = authority.extension(x509.NameConstraints)
        if found is not None:
            permitted = tuple(map(_kind_and_value, found.permitted_subtrees or ()))
            excluded = tuple(map(_kind_and_value, found.excluded_subtrees or ()))
            self._constraints.append((str(authority.subject), permitted, excluded))

    def require(self, certificate: ParsedCertificate, *, is_leaf: bool) -> None:
        """Raise CertificateRefused unless every authority so far allows all of its names."""
        if not self._constraints or (certificate.is_self_issued and not is_leaf):
            return
        for kind, value in _names(certificate, is_leaf=is_leaf):
            for authority, permitted, excluded in self._constraints:
                allowed = [base for of, base in permitted if of == kind]
                if (allowed and not self._within(kind, value, allowed, authority)) or self._within(
                    kind, value, [base for of, base in excluded if of == kind], authority
                ):
                    raise CertificateRefused(
                        f"the authority {authority} may not issue for {_shown(kind, value)}"
                    )

    def _within(self, kind: _Kind, value: object, bases: list[Any], authority: str) -> bool:
        self._comparisons += len(bases) + 1
        if self._comparisons > MOST_COMPARISONS:
            raise CertificateRefused("its path has too many names and name constraints")
        if not bases:
            return False
        rule = _RULES.get(kind, _is_unknown_within)
        try:
            return any(rule(value, base) for base in bases)
        except _Ambiguous as error:
            raise CertificateRefused(
                f"a name constraint of {authority} cannot be applied to {_shown(kind, value)}"
            ) from error


def _names(certificate: ParsedCertificate, *, is_leaf: bool) -> Iterator[_Name]:
    subject = certificate.subject
    if subject.relative_names:
        yield x509.DirectoryName, subject
    for attribute in subject.attributes:
        if attribute.oid == _EMAIL_ADDRESS:
            yield x509.RFC822Name, attribute.value
    alternative = certificate.extension(x509.SubjectAlternativeName)
    names = [] if alternative is None else [_kind_and_value(name) for name in alternative]
    yield from names
    if is_leaf and all(kind is not x509.DNSName for kind, _ in names):
        for text in subject.common_names:
            if isinstance(text, str) and _COMMON_NAME_AS_HOST.fullmatch(text):
                yield x509.DNSName, text


def _kind_and_value(name: x509.GeneralName) -> _Name:
    if isinstance(name, x509.OtherName):
        return name.type_id.dotted_string, name.value
    if isinstance(name, x509.DirectoryName):
        return x509.DirectoryName, _directory_name(name.value)
    return type(name), name.value


def _directory_name(name: x509.Name) -> DistinguishedName:
    try:
        return encoded_name(name.public_bytes())
    except (ValueError, TypeError) as error:
        raise CertificateRefused("a directory name cannot be read") from error


def _is_unknown_within(_name: object, _base: object) -> bool:
    raise _Ambiguous


def _is_host_within(name: object, base: str) -> bool:
    host, base = _matching(name, _DNS_NAME), _matching(base, _DNS_CONSTRAINT)
    if not base:
        return True
    return host.endswith(base) if base[0] == "." else f".{host}".endswith(f".{base}")


def _is_mailbox_within(name: object, base: str) -> bool:
    mailbox, host = _split_address(name)
    if "@" in base:
        return (mailbox, host) == _split_address(base)
    return _is_host_or_below(host, base)


def _split_address(address: object) -> tuple[str, str]:
    if not isinstance(address, str) or address.count("@") != 1:
        raise _Ambiguous
    mailbox, _, host = address.partition("@")
    if not mailbox:
        raise _Ambiguous
    return mailbox, _matching(host, _HOST)


def _is_uri_within(name: object, base: str) -> bool:
    found = _URI.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise _Ambiguous
    return _is_host_or_below(found[1].lower(), base)


def _is_host_or_below(host: str, base: str) -> bool:
    base = _matching(base, _HOST_CONSTRAINT)
    return host.endswith(base) if base[0] == "." else host == base


def _is_address_within(name: Any, base: object) -> bool:
    if not isinstance(base, IPv4Network | IPv6Network):
        raise _Ambiguous
    return name in base


def _is_below(name: DistinguishedName, base: DistinguishedName) -> bool:
    beginning = name.relative_names[: len(base.relative_names)]
    return list(map(_folded, beginning)) == list(map(_folded, base.relative_names))


def _folded(relative_name: Iterable[Attribute]) -> list[tuple[str, str | bytes]]:
    """Return the attributes as RFC 5280 §7.1 compares them, without regard to case and spaces."""
    return sorted((item.oid, _folded_value(item.value)) for item in relative_name)


def _folded_value(value: str | bytes) -> str | bytes:
    return _SPACES.sub(" ", value).strip().casefold() if isinstance(value, str) else value


def _matching(text: object, pattern: re.Pattern[str]) -> str:
    if not isinstance(text, str) or pattern.fullmatch(text) is None:
        raise _Ambiguous
    return text.lower()


def _shown(kind: _Kind, value: object) -> str:
    name = "another name" if isinstance(kind, str) else _KINDS.get(kind, "a name")
    return f"{name} {str(value)[:200]!a}"


_RULES: Final[dict[_Kind, Callable[[Any, Any], bool]]] = {
    x509.DNSName: _is_host_within,
    x509.RFC822Name: _is_mailbox_within,
    x509.UniformResourceIdentifier: _is_uri_within,
    x509.IPAddress: _is_address_within,
    x509.DirectoryName: _is_below,
}
_KINDS: Final[dict[type[x509.GeneralName], str]] = {
    x509.DNSName: "the host",
    x509.RFC822Name: "the e-mail address",
    x509.UniformResourceIdentifier: "the URI",
    x509.IPAddress: "the IP address",
    x509.DirectoryName: "the name",
}


_ANY: Final = "2.5.29.32.0"


def require_policies(path: Sequence[ParsedCertificate], required: frozenset[str]) -> None:
    """Raise CertificateRefused unless `path`, leaf to anchor, fits one of `required`, if any."""
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
        """Apply constraints of the authority. Spec: RFC 5280 §6.1.4 (i), (j)."""
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
