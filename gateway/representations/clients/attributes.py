"""Attributes of a client that rules read: refused where a slip would weaken a rule in silence.

A misspelt "true" would leave tokens unbound, a misspelt subject would lock a device out.
Attributes that hold secrets are not kept here: nothing would seal or mask them. The rotated secret
of a client is a field of its own.
Keycloak: client attributes. Spec: RFC 8705 §2.1.2 (the subject), §3.3 (bound tokens)
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway.domain.clients import (
    CERTIFICATE_AUTHENTICATOR,
    EVERY_ADMINISTRATIVE_ROLE,
    AdministrativeReach,
    Client,
)
from gateway.domain.distinguished_names import parse_distinguished_name
from gateway.domain.errors import FieldError
from gateway.domain.limits.patterns import MAY_TAKE_HOURS, pattern_problem
from gateway.representations.clients.certificate_attributes import certificate_name_errors
from gateway.representations.clients.settings import (
    ADMINISTRATIVE_ROLES,
    AUTHORITY,
    CHECKS,
    ROTATED_SECRET,
    SUBJECT,
    SUBJECT_IS_PATTERN,
)
from gateway.representations.refusals import describe, join
from gateway.representations.shapes import TextMap

_ENCRYPTED: Final = (
    "id.token.encrypted.response",
    "user.info.encrypted.response",
    "authorization.encrypted.response",
)
_LONGEST_PATTERN = 2000
_MAY_HANG = (
    "may match for hours: at most two unbounded repeats, none inside another, no back references"
)
_SECRET_ENDINGS = (".private.key", ".secret.rotated")


class ClientAttributes(TextMap):
    """The shape of `attributes`: texts, without empty ones and those of the gateway alone."""

    def read(self, value: Any, path: str) -> dict[str, str]:
        texts = _without_own(TextMap.read(self, value, path))
        return {name: text for name, text in texts.items() if text}

    def write(self, value: Mapping[str, str]) -> dict[str, str]:
        return _without_own(value)


def holds_secret(name: str) -> bool:
    """Tell whether Keycloak keeps a secret in the attribute `name`."""
    return name.lower().endswith(_SECRET_ENDINGS)


def is_left_out(name: str) -> bool:
    """Tell whether the attribute `name` is not kept; the rotated secret is, sealed."""
    return holds_secret(name) and name != ROTATED_SECRET


def _without_own(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes without secrets, and without the roles that tokens may carry."""
    return {
        name: text
        for name, text in attributes.items()
        if name != ADMINISTRATIVE_ROLES and not holds_secret(name)
    }


def stated_reach(attributes: Any) -> AdministrativeReach:
    """Return the reach that attributes of a document state: everything where they state none.

    What cannot be parsed states that there is no administrative role.
    """
    stated = attributes.get(ADMINISTRATIVE_ROLES) if isinstance(attributes, Mapping) else None
    if stated is None:
        return EVERY_ADMINISTRATIVE_ROLE
    try:
        roles = json.loads(stated)
    except (TypeError, ValueError, RecursionError):
        roles = ()
    names = roles if isinstance(roles, list) else ()
    return AdministrativeReach(roles=frozenset(name for name in names if isinstance(name, str)))


def with_reach_stated(document: dict[str, Any], reach: AdministrativeReach) -> dict[str, Any]:
    """Return the document of an export, which states a reach that is not everything.

    A file that is imported again does not widen it then.
    """
    if reach.everything:
        return document
    stated = json.dumps(sorted(reach.roles))
    attributes = {**document.get("attributes", {}), ADMINISTRATIVE_ROLES: stated}
    return {**document, "attributes": attributes}


def attribute_errors(client: Client, path: str) -> list[FieldError]:
    """Return what is wrong with the attributes of `client`, whose path is `path`."""
    found = (
        (name, client.attributes[name], check(client.attributes[name]))
        for name, check in CHECKS.items()
        if client.attributes.get(name)
    )
    errors = [
        FieldError(join(path, name), describe(text), allowed)
        for name, text, allowed in found
        if allowed
    ]
    errors += _encryption_errors(client, path)
    if client.client_authenticator_type == CERTIFICATE_AUTHENTICATOR and not client.public_client:
        errors += _certificate_errors(client, path)
    errors += certificate_name_errors(client, path)
    return errors


def _encryption_errors(client: Client, path: str) -> Iterator[FieldError]:
    """Yield the content encryptions without a key management: nothing would be encrypted.

    Spec: OpenID Connect Registration §2
    """
    for name in _ENCRYPTED:
        content = client.attributes.get(f"{name}.enc")
        if content and not client.attributes.get(f"{name}.alg"):
            allowed = f"nothing, unless {name}.alg is set: nothing would be encrypted"
            yield FieldError(join(path, f"{name}.enc"), describe(content), allowed)


def _certificate_errors(client: Client, path: str) -> Iterator[FieldError]:
    """Yield what is wrong with the names of subject and authority, where these are given."""
    is_pattern = client.attributes.get(SUBJECT_IS_PATTERN, "true").lower() == "true"
    subject = _PATTERN if is_pattern else _EXACT
    for name, (problem, allowed) in ((SUBJECT, subject), (AUTHORITY, _AUTHORITY)):
        text = client.attributes.get(name, "").strip()
        reason = problem(text) if text else None
        if reason:
            yield FieldError(join(path, name), f"{describe(text)} ({reason})", allowed)


def _pattern_error(subject: str) -> str | None:
    if len(subject) > _LONGEST_PATTERN:
        return f"longer than {_LONGEST_PATTERN} characters"
    problem = pattern_problem(subject)
    return _MAY_HANG if problem == MAY_TAKE_HOURS else problem


def _name_error(subject: str) -> str | None:
    try:
        parse_distinguished_name(subject)
    except ValueError as error:
        return str(error)
    return None


_PATTERN: Final = (
    _pattern_error,
    f'a regular expression, or {SUBJECT_IS_PATTERN} "false" and a distinguished name',
)
_EXACT: Final = (_name_error, "a distinguished name such as CN=device-1,O=Example")
_AUTHORITY: Final = (_name_error, "a distinguished name such as CN=Device CA,O=Example")
"""What finds an error in a name, and what is allowed."""
