"""Checks of clients: attributes that rules read, and addresses, in Keycloak's words.

A misspelt "true" would leave tokens unbound, a misspelt subject would lock a device out: both are
refused. Attributes that hold secrets are not kept here: nothing would seal or mask them. The
rotated secret of a client is a field of its own. A name, a template or a number of keys by which a
certificate is recognized is refused where it would have no effect: with another way of
authentication, or with a second name. An address with a script in it would run where a page links
to it.
Keycloak: client attributes, validation of clients (26.7). Spec: RFC 8705 §2.1.2 (exactly one name,
the subject), §2.2, §3.3 (bound tokens); RFC 3986, RFC 6749 §3.1.2; attributes
`realmgate.certificate.*`
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from gateway.domain.certificate_names import RESERVED_CLAIMS
from gateway.domain.clients import (
    ADMINISTRATIVE_ROLES,
    AUTHORITY,
    BOUND,
    CERTIFICATE_AUTHENTICATOR,
    CERTIFICATE_PREFIX,
    CHECKS,
    DEVICE_FAILURES,
    DEVICE_LOCK,
    DEVICE_QUOTA,
    EVERY_ADMINISTRATIVE_ROLE,
    ROTATED_SECRET,
    SAN_DNS,
    SAN_EMAIL,
    SAN_IP,
    SAN_URI,
    SELF_SIGNED,
    SUBJECT,
    SUBJECT_IS_PATTERN,
    TEMPLATE,
    TEMPLATE_CLAIMS,
    UNSAFE_SCHEMES,
    AdministrativeReach,
    Client,
    read_claims,
    read_template,
)
from gateway.domain.distinguished_names import parse_distinguished_name
from gateway.domain.errors import FieldError
from gateway.domain.limits.patterns import MAY_TAKE_HOURS, pattern_problem
from gateway.domain.realm import RENEWAL_OVERLAP
from gateway.representations.refusals import describe, join
from gateway.representations.shapes import TextMap

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


class ClientAttributesShape(TextMap):
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


_SIGN: Final = r"[A-Za-z0-9._~:/#@!$&'()*+,;=-]|[^\x00-\x7f]|%[0-9A-Fa-f]{2}"
_ADDRESS: Final = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://\[[0-9A-Fa-f:.]+\](?=[:/?#]|$))?"
    rf"(?:{_SIGN})*"
    rf"(?:\?(?:{_SIGN}|[?\[\]])*)?"
)
"""Brackets stand round an address of IPv6, and in a query."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NOTHING_BEHIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?")
_OF_REDIRECTS: Final = "+"
_OF_URLS: Final = frozenset({"http", "https", "ftp", "file", "jar", "mailto"})
_PLACEHOLDERS: Final = ("${authBaseUrl}", "${authAdminUrl}")
_SEPARATOR: Final = "##"
_NOTIFICATIONS: Final = "ciba.backchannel.client.notification.endpoint"
_SECTOR: Final = "sectorIdentifierUri"


@dataclass(frozen=True, slots=True)
class _Field:
    """An address in words. `is_url` demands a scheme that is known."""

    label: str
    invalid: str = "is not a valid URL"
    illegal: str = "uses an illegal scheme"
    is_url: bool = True
    may_have_fragment: bool = True
    from_root: bool = False
    """It may begin at the root of the client."""


def _redirect(label: str) -> _Field:
    return _Field(label, "is not a valid URI", is_url=False, may_have_fragment=False)


_ROOT: Final = _Field("Root URL", may_have_fragment=False)
_KEPT: Final = {
    "baseUrl": _Field("Base URL", from_root=True),
    "adminUrl": _Field("Admin URL", from_root=True),
}
_ATTRIBUTES: Final = {
    "backchannel.logout.url": _Field("Backchannel logout URL", from_root=True),
    "frontchannel.logout.url": _Field("Front-channel logout URL", from_root=True),
    "logoUri": _Field("Logo URL", is_url=False),
    "policyUri": _Field("Policy URL"),
    "tosUri": _Field("Terms of service URL"),
    "jwks.url": _Field("JWKS URL", from_root=True),
}
_REDIRECTS: Final = _redirect("A redirect URI")
_LISTS: Final = {
    "post.logout.redirect.uris": _redirect("A post-logout redirect URI"),
    "request.uris": _Field(
        "Valid request URIs",
        "has an invalid value",
        "has a value with illegal scheme",
        is_url=False,
    ),
}


@dataclass(frozen=True, slots=True)
class WrongAddress:
    """An address that is refused; `text` is public."""

    text: str
    address: str
    is_redirect: bool = False


def wrong_addresses(client: Client) -> tuple[WrongAddress, ...]:
    """Return what is wrong, in Keycloak's order."""
    return tuple(_wrong(client))


def own_urls(client: Client) -> Iterator[str]:
    """Yield the root, base and admin URL, as they were given."""
    for name in ("rootUrl", *_KEPT):
        if address := client.document.get(name):
            yield address


def redirect_uris(client: Client) -> tuple[str, ...]:
    """Return the redirect URIs, as they were given."""
    return tuple(client.document.get("redirectUris", ()))


def client_addresses(client: Client) -> dict[str, Sequence[str]]:
    """Return every address of the client, by its name in client policies.

    Placeholders of other addresses are replaced by them.
    """
    attributes = client.attributes
    single = {
        "rootUrl": client.document.get("rootUrl"),
        "adminUrl": client.document.get("adminUrl"),
        "baseUrl": client.document.get("baseUrl"),
        "jwksUri": attributes.get("jwks.url"),
        "backchannelLogoutUrl": attributes.get("backchannel.logout.url"),
        "frontchannelLogoutUrl": attributes.get("frontchannel.logout.url"),
        "cibaClientNotificationEndpoint": attributes.get(_NOTIFICATIONS),
        "logoUri": attributes.get("logoUri"),
        "policyUri": attributes.get("policyUri"),
        "tosUri": attributes.get("tosUri"),
    }
    sectors = (mapper.config.get(_SECTOR) for mapper in client.protocol_mappers)
    several: dict[str, Iterable[str | None]] = {
        "redirectUris": redirect_uris(client),
        "webOrigins": client.allowed_origins or (),
        "requestUris": client.request_objects.uris,
        "postLogoutRedirectUris": client.redirects.post_logout_patterns,
        "sectorIdentifierUri": sectors,
    }
    found = {name: (address,) for name, address in single.items()} | several
    return {name: [each for each in addresses if each] for name, addresses in found.items()}


def explained(wrong: Iterable[WrongAddress]) -> str:
    """Return what is wrong as one public text without repetitions."""
    return "; ".join(dict.fromkeys(one.text for one in wrong))


def _wrong(client: Client) -> Iterator[WrongAddress]:
    root = client.document.get("rootUrl") or ""
    for text in _judged(_ROOT, root):
        yield WrongAddress(text, root)
    for field, address in _single(client):
        for text in _judged(field, address, root):
            yield WrongAddress(text, address)
    for address in client.document.get("redirectUris", ()):
        for text in _judged(_REDIRECTS, address):
            yield WrongAddress(text, address, is_redirect=True)
    for name, field in _LISTS.items():
        for address in client.attributes.get(name, "").split(_SEPARATOR):
            for text in _judged(field, address):
                yield WrongAddress(text, address)


def _single(client: Client) -> Iterator[tuple[_Field, str]]:
    for name, field in _KEPT.items():
        yield field, client.document.get(name) or ""
    for name, field in _ATTRIBUTES.items():
        yield field, client.attributes.get(name, "")


def _judged(field: _Field, address: str, root: str = "") -> Iterator[str]:
    """Yield a fragment and an illegal scheme, or else that it is no address at all."""
    if field.from_root and address.startswith("/"):
        address = f"{root or 'https://root'}{address}"
    if not address or address.startswith(_PLACEHOLDERS):
        return
    is_address = _ADDRESS.fullmatch(address) is not None
    problems = list(_problems(field, address)) if is_address else []
    if not problems and not (is_address and _is_whole(field, address)):
        problems = [field.invalid]
    yield from (f"{field.label} {problem}" for problem in problems)


def _problems(field: _Field, address: str) -> Iterator[str]:
    if "#" in address and not field.may_have_fragment:
        yield "must not contain an URL fragment"
    if _scheme(address) in UNSAFE_SCHEMES:
        yield field.illegal


def _is_whole(field: _Field, address: str) -> bool:
    if address.count("#") > 1 or _NOTHING_BEHIND.fullmatch(address):
        return False
    return not field.is_url or (_scheme(address) in _OF_URLS and _has_a_place(address))


def _scheme(address: str) -> str:
    found = _SCHEME.match(address)
    return found.group(1).lower() if found else ""


def _has_a_place(address: str) -> bool:
    try:
        _ = urlsplit(address).port
    except ValueError:
        return False
    return True
