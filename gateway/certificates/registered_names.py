"""The one rule of names: whether a trusted certificate is registered for a client.

Only the leaf counts, and only in the field that is meant for the registered kind of name: a DNS
name in the subject is none. A client has one name, or a template of them.
Spec: RFC 8705 §2.1.2, §7.4; Keycloak: `client-x509`; attacks A14, A15
"""

import sys
from typing import Final

from gateway.domain.certificate_names import CertificateTemplate
from gateway.domain.certificates import ClientCertificate, PresentedCertificate
from gateway.domain.clients import CERTIFICATE_AUTHENTICATOR, Client
from gateway.domain.distinguished_names import subject_matches
from gateway.domain.limits.caches import SizedCache

_MATCHES_BYTES: Final = 8 * 1024 * 1024
"""Memory of a worker for results: those of 10,000 certificates in use, and as many old ones."""
_MATCH_BYTES: Final = 200
_LONGEST_SHOWN: Final = 300
"""Characters of a subject in a reason."""


class NotRegistered(Exception):
    """The certificate is not the client's; `str()` says why, for logs."""


def require_registered(client: Client, certificate: ClientCertificate) -> None:
    """Raise NotRegistered for a certificate that does not authenticate the client."""
    if not certificate.identifies:
        raise NotRegistered(f"the client certificate is not trusted: {certificate.reason}")
    _require_name(client, certificate.evidence.leaf)
    authority = client.certificate_authentication.authority
    problem = certificate.authority_problem(authority) if authority else None
    if problem is not None:
        raise NotRegistered(problem)


def owns(client: Client, certificate: ClientCertificate) -> bool:
    """Return whether the client authenticates by certificates, and this is its own."""
    return client.enabled and is_registered_for(client, certificate)


def has_registered_name(client: Client, leaf: PresentedCertificate) -> bool:
    """Return whether the certificate has the client's name; the issuer is not compared."""
    try:
        _require_name(client, leaf)
    except NotRegistered:
        return False
    return True


def is_registered_for(client: Client, certificate: ClientCertificate) -> bool:
    """Return whether this is the certificate of the client, which may be disabled."""
    if client.public_client:
        return False
    if client.client_authenticator_type != CERTIFICATE_AUTHENTICATOR:
        return False
    try:
        require_registered(client, certificate)
    except NotRegistered:
        return False
    return True


def _require_name(client: Client, leaf: PresentedCertificate) -> None:
    registered, template = client.certificate_authentication, client.devices.template
    name, subject = registered.alternative_name, registered.subject
    if template is not None:
        problem = template.ambiguity(leaf)
        if problem is not None:
            raise NotRegistered(problem)
        _require_one_device(len(template.devices(leaf)), template, leaf)
    elif name is not None:
        if not name.matches(leaf):
            raise NotRegistered(f"the certificate lacks the {name.kind} name of the client")
    elif not subject:
        raise NotRegistered("no certificate subject is registered for the client")
    elif not _subject_matches(leaf, subject, regex=registered.is_pattern):
        raise NotRegistered(_other_subject(leaf, regex=registered.is_pattern))


def _other_subject(leaf: PresentedCertificate, *, regex: bool) -> str:
    """Return the reason with the subject as it was compared, so that it can be registered."""
    how = "compared with an expression" if regex else "compared as a name"
    subject = leaf.subject.legacy_rendering() if regex else leaf.subject.rfc4514()
    shown = subject if len(subject) <= _LONGEST_SHOWN else f"{subject[:_LONGEST_SHOWN]}..."
    return f"the certificate's subject is not the one registered for the client, {how}: {shown}"


_Key = tuple[bytes, str, bool]
"""Digest of the certificate, the registered name, and whether that is an expression."""


def _weigh(key: _Key, _matches: bool) -> int:  # noqa: FBT001 - the value of an entry
    return _MATCH_BYTES + sys.getsizeof(key[1])


_MATCHES: Final[SizedCache[_Key, bool]] = SizedCache(_MATCHES_BYTES, _weigh)
"""A device authenticates often, and parsing its registered name takes long."""


def _subject_matches(leaf: PresentedCertificate, expected: str, *, regex: bool) -> bool:
    key = (leaf.digest, expected, regex)
    found = _MATCHES.get(key)
    if found is None:
        found = subject_matches(leaf.subject, expected, regex=regex)
        _MATCHES.put(key, found)
    return found


def _require_one_device(
    found: int, template: CertificateTemplate, leaf: PresentedCertificate
) -> None:
    if found == 0:
        shown = ", ".join(map(repr, template.compared_names(leaf))) or "it has none"
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
        raise NotRegistered(
            f"no name of the certificate fits the client's template {template.text}, compared with"
            f" its {template.part} names: {shown}"
        )
    if found > 1:
        raise NotRegistered("several names of the certificate fit the client's template")
