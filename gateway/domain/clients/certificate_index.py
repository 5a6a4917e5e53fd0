"""Terms by which the clients of a certificate are found, without looking at every client.

A client has one term: of its registered name, or of the shape of its template. A pattern of
subjects has none: it would have to be tried with every certificate. A term only finds candidates;
whether the certificate is the client's is decided by `gateway/certificates/registered_names.py`.
"""

import hashlib
from typing import Final

from gateway.domain.certificate_names import canonical_email, shape_of_name, shapes_of
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.clients.authenticators import CERTIFICATE_AUTHENTICATOR
from gateway.domain.clients.client import Client
from gateway.domain.distinguished_names import parse_distinguished_name

MOST_NAMES: Final = 64
"""Alternative names of a certificate that clients are looked for by."""


def certificate_terms(client: Client) -> frozenset[str]:
    """Return the terms of a client; none where only a request with its client_id finds it."""
    registered, template = client.certificate_authentication, client.devices.template
    if client.client_authenticator_type != CERTIFICATE_AUTHENTICATOR:
        return frozenset()
    if template is not None:
        return frozenset({_term("template", template.shape)})
    if registered.alternative_name is not None:
        name = registered.alternative_name
        return frozenset({_term(name.kind, name.value)})
    if not registered.subject or registered.is_pattern:
        return frozenset()
    try:
        return frozenset({_term("subject", str(parse_distinguished_name(registered.subject)))})
    except ValueError:
        return frozenset()


def terms_of_rivals(client: Client) -> frozenset[str]:
    """Return the terms of the clients that may own a certificate of this one.

    The names that fit a template of the client have no common term: they are not among them.
    """
    name = client.certificate_authentication.alternative_name
    shape = None if name is None else shape_of_name(name)
    own = certificate_terms(client)
    return own | {_term("template", shape)} if own and shape is not None else own


def share_certificates(first: Client, second: Client) -> bool:
    """Return whether one certificate can have the names of both clients, in the same field."""
    own, other = first.devices.template, second.devices.template
    if not certificate_terms(first) or not certificate_terms(second):
        return False
    if own is not None and other is not None:
        return own.overlaps(other)
    if own is not None:
        name = second.certificate_authentication.alternative_name
        return name is not None and own.fits_name(name)
    if other is not None:
        return share_certificates(second, first)
    return not certificate_terms(first).isdisjoint(certificate_terms(second))


def terms_of_certificate(leaf: PresentedCertificate) -> frozenset[str]:
    """Return the terms of the clients that may own the certificate; none for too many names."""
    named = [("dns", name.lower()) for name in leaf.dns_names]
    named += [("uri", name) for name in leaf.uris]
    named += [("ip", name) for name in leaf.ip_addresses]
    named += [("email", canonical_email(name)) for name in leaf.emails]
    if len(named) > MOST_NAMES:
        return frozenset()
    named += [("template", shape) for shape in shapes_of(leaf)]
    return frozenset(_term(*one) for one in [*named, ("subject", str(leaf.subject))])


def _term(kind: str, value: str) -> str:
    """Return a short text for a value of any length."""
    return f"{kind}:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"
