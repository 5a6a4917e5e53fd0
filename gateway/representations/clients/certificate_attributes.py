"""Attributes by which a client with a certificate is recognized: one name, a template, or keys.

They are refused where they would have no effect: with another way of authentication, or with a
second name. Spec: RFC 8705 §2.1.2 (exactly one name), §2.2; attributes `realmgate.certificate.*`
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gateway.domain.certificate_names import RESERVED_CLAIMS
from gateway.domain.clients import CERTIFICATE_AUTHENTICATOR, Client
from gateway.domain.errors import FieldError
from gateway.domain.realm import RENEWAL_OVERLAP
from gateway.representations.clients.certificate_values import read_claims, read_template
from gateway.representations.clients.settings import (
    BOUND,
    CERTIFICATE_PREFIX,
    DEVICE_FAILURES,
    DEVICE_LOCK,
    DEVICE_QUOTA,
    SAN_DNS,
    SAN_EMAIL,
    SAN_IP,
    SAN_URI,
    SELF_SIGNED,
    SUBJECT,
    TEMPLATE,
    TEMPLATE_CLAIMS,
)
from gateway.representations.refusals import describe, join

_NAMES: Final = (SUBJECT, SAN_DNS, SAN_URI, SAN_IP, SAN_EMAIL, TEMPLATE)
_ONLY_WITH_TEMPLATE: Final = (TEMPLATE_CLAIMS, DEVICE_QUOTA, DEVICE_FAILURES, DEVICE_LOCK)
_NOT_USED: Final = (
    f"nothing, unless a confidential client has the authenticator {CERTIFICATE_AUTHENTICATOR}"
)
_KNOWN: Final = frozenset({*_NAMES, *_ONLY_WITH_TEMPLATE, SELF_SIGNED})


def certificate_name_errors(client: Client, path: str) -> Iterator[FieldError]:
    """Yield what is wrong with the attributes, apart from their own form."""
    overlap = client.attributes.get(RENEWAL_OVERLAP, "")
    if overlap and client.attributes.get(BOUND) != "true":
        allowed = f'nothing, unless {BOUND} is "true": other tokens need no certificate'
        yield FieldError(join(path, RENEWAL_OVERLAP), describe(overlap), allowed)
    given = {
        name: text
        for name, text in client.attributes.items()
        if name.startswith(CERTIFICATE_PREFIX)
    }
    if not given:
        return
    checks: tuple[Callable[[Client, Mapping[str, str]], Iterator[tuple[str, str]]], ...]
    checks = (_unknown, _without_effect, _several, _self_signed, _of_template)
    for check in checks:
        for name, allowed in check(client, given):
            yield FieldError(join(path, name), describe(client.attributes[name]), allowed)


def _unknown(_client: Client, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in sorted(given.keys() - _KNOWN):
        yield name, f"one of {', '.join(sorted(_KNOWN - {SUBJECT}))}"


def _without_effect(client: Client, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if client.client_authenticator_type == CERTIFICATE_AUTHENTICATOR and not client.public_client:
        return
    for name in sorted(given.keys() & _KNOWN):
        yield name, _NOT_USED


def _several(client: Client, _given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = [name for name in _NAMES if client.attributes.get(name, "").strip()]
    for name in names[1:]:
        yield name, f"exactly one name of a certificate (RFC 8705 §2.1.2); there is also {names[0]}"


def _self_signed(client: Client, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if given.get(SELF_SIGNED) != "true":
        return
    for name in _NAMES:
        if client.attributes.get(name, "").strip():
            yield name, f"nothing together with {SELF_SIGNED}: no name of such a certificate counts"


def _of_template(client: Client, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what a template lacks: without bound tokens a device could use another one's."""
    if TEMPLATE not in given:
        for name in _ONLY_WITH_TEMPLATE:
            if name in given:
                yield name, f"nothing, unless {TEMPLATE} is set"
        return
    if client.attributes.get(BOUND) != "true":
        yield TEMPLATE, f'a client with {BOUND} "true"'
    template = read_template(given[TEMPLATE])
    if template is None:
        return
    claims = read_claims(given.get(TEMPLATE_CLAIMS, "{}"))
    if claims.keys() - set(template.names):
        yield TEMPLATE_CLAIMS, f"the placeholders {', '.join(template.names)} alone"
    written = [claims.get(name, name) for name in template.names]
    if RESERVED_CLAIMS & set(written) or len(set(written)) < len(written):
        where = TEMPLATE_CLAIMS if TEMPLATE_CLAIMS in given else TEMPLATE
        yield where, "claims that differ, and that say nothing of subject, session or rights"
