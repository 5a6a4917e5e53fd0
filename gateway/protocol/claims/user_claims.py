"""Mappers of claims about the user: attributes, properties, groups, and requested claims.

An attribute that the user does not have is taken from the user's groups: of its groups the first
that has it counts, of each its parents after it; `aggregate.attrs` takes the values of all of
them, after the user's own. The parameter `claims` of the authorization request adds essential
standard claims, or copies the value of one claim; it never adds protocol claims.
Keycloak: user attribute, user property, full name, address and group membership mappers,
ClaimsParameterTokenMapper; Spec: OpenID Connect Core §5.5
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.groups import parse_group_path
from gateway.domain.users import User
from gateway.protocol.claims.mapper import (
    CLAIM_NAME,
    EVERYWHERE,
    AddClaims,
    ClaimMapper,
    ClaimsFor,
    MappedClaims,
    claim_path,
    values_writer,
)
from gateway.protocol.claims.subject import TokenSubject

_ADDRESS_FIELDS: Final[Mapping[str, Callable[[User], str | None]]] = {
    "username": attrgetter("username"),
    "email": attrgetter("email"),
    "firstName": attrgetter("first_name"),
    "lastName": attrgetter("last_name"),
}
"""Attributes that every user has a field for."""
_PROPERTIES: Final[Mapping[str, Callable[[User], str | None]]] = {
    **_ADDRESS_FIELDS,
    "id": attrgetter("id"),
    "emailVerified": lambda user: "true" if user.email_verified else "false",
    "enabled": lambda user: "true" if user.enabled else "false",
    "createdTimestamp": lambda user: str(int(user.created_at.timestamp() * 1000)),
    "serviceAccountClientLink": attrgetter("service_account_client"),
}
_ADDRESS: Final = {
    "formatted": "formatted",
    "street_address": "street",
    "locality": "locality",
    "region": "region",
    "postal_code": "postal_code",
    "country": "country",
}
"""Member of `address` (OpenID Connect Core §5.1.1) -> Keycloak's name of it in configurations, and
the standard name of the attribute."""


def _attribute(mapper: ProtocolMapper) -> AddClaims | None:
    name = mapper.config.get("user.attribute")
    write = values_writer(mapper.config)
    if not name or write is None:
        return None
    read = _ADDRESS_FIELDS.get(name)
    aggregate = mapper.config.get("aggregate.attrs") == "true"

    def add_field(claims: MappedClaims, subject: TokenSubject) -> None:
        value = read(subject.user) if read else None
        if value:
            write(claims, (value,))

    def add_attribute(claims: MappedClaims, subject: TokenSubject) -> None:
        values: Sequence[str] | None = subject.user.attributes.get(name)
        if (not values or aggregate) and subject.group_attributes:
            values = _with_groups(values or (), subject, name, aggregate=aggregate)
        if values:
            write(claims, values)

    return add_field if read else add_attribute


def _with_groups(
    own: Sequence[str], subject: TokenSubject, name: str, *, aggregate: bool
) -> Sequence[str]:
    found = [values for of in subject.group_attributes if (values := of.get(name))]
    if not aggregate:
        return found[0] if found else own
    return tuple(dict.fromkeys((*own, *(value for values in found for value in values))))


def _property(mapper: ProtocolMapper) -> AddClaims | None:
    name = mapper.config.get("user.attribute", "")
    read = _PROPERTIES.get(name[:1].lower() + name[1:])
    write = values_writer(mapper.config)
    if read is None or write is None:
        return None

    def add_claims(claims: MappedClaims, subject: TokenSubject) -> None:
        value = read(subject.user)
        if value is not None:
            write(claims, (value,))

    return add_claims


def _full_name(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add `name`. Spec: OpenID Connect Core §5.1."""
    if name := " ".join(filter(None, (subject.user.first_name, subject.user.last_name))):
        claims.put_claim(("name",), name)


def _address(mapper: ProtocolMapper) -> AddClaims:
    attributes = {
        member: mapper.config.get(f"user.attribute.{part}") or part
        for member, part in _ADDRESS.items()
    }

    def add_claims(claims: MappedClaims, subject: TokenSubject) -> None:
        parts = {member: _first_value(subject.user, name) for member, name in attributes.items()}
        known = {member: text for member, text in parts.items() if text}
        if known:
            claims.put_claim(("address",), known)

    return add_claims


def _first_value(user: User, name: str) -> str | None:
    read = _ADDRESS_FIELDS.get(name)
    if read is not None:
        return read(user)
    return next(iter(user.attributes.get(name, ())), None)


def _group_membership(mapper: ProtocolMapper) -> AddClaims | None:
    path = claim_path(mapper.config)
    if path is None:
        return None
    full = mapper.config.get("full.path") == "true"

    def add_claims(claims: MappedClaims, subject: TokenSubject) -> None:
        groups = subject.groups
        if groups:
            claims.put_claim(path, _shown_groups(groups, full=full))

    return add_claims


def _shown_groups(paths: Iterable[str], *, full: bool) -> list[str]:
    """Return the paths, in which a slash within a name is escaped, or the names alone."""
    return list(paths) if full else [parse_group_path(path)[-1] for path in paths]


FULL_NAME: Final = ClaimMapper("oidc-full-name-mapper", EVERYWHERE, lambda _: _full_name)
USER_ATTRIBUTE: Final = ClaimMapper(
    "oidc-usermodel-attribute-mapper",
    EVERYWHERE,
    _attribute,
    needs_attributes=lambda mapper: mapper.config.get("user.attribute") not in _ADDRESS_FIELDS,
)
USER_PROPERTY: Final = ClaimMapper("oidc-usermodel-property-mapper", EVERYWHERE, _property)
ADDRESS: Final = ClaimMapper("oidc-address-mapper", EVERYWHERE, _address)
GROUP_MEMBERSHIP: Final = ClaimMapper("oidc-group-membership-mapper", EVERYWHERE, _group_membership)


_OF_ID_TOKEN: Final = "id_token"  # noqa: S105 - a member of the parameter
_CLAIMS_MEMBERS: Final[Mapping[str, str]] = {
    ClaimsFor.ID_TOKEN: _OF_ID_TOKEN,
    ClaimsFor.USERINFO: "userinfo",
}
"""Document -> the member of the parameter that asks for its claims."""


def _name_of_user(user: User) -> str | None:
    return " ".join(filter(None, (user.first_name, user.last_name))) or None


_REQUESTABLE: Final[Mapping[str, Callable[[User], str | None]]] = {
    "name": _name_of_user,
    "given_name": lambda user: user.first_name,
    "family_name": lambda user: user.last_name,
    "preferred_username": lambda user: user.username,
    "email": lambda user: user.email,
}
"""The claims that may be asked for."""


def _essential_claims(claims: MappedClaims, subject: TokenSubject) -> None:
    for name, wanted in _requested_members(
        subject, _CLAIMS_MEMBERS.get(claims.purpose, "")
    ).items():
        read = _REQUESTABLE.get(name)
        if read is None or not isinstance(wanted, dict) or wanted.get("essential") is not True:
            continue
        value = read(subject.user)
        if value:
            claims.put_claim((name,), value)


def _value_of_claim(mapper: ProtocolMapper) -> AddClaims | None:
    path, name = claim_path(mapper.config), mapper.config.get(CLAIM_NAME, "")
    if path is None:
        return None

    def add_claims(claims: MappedClaims, subject: TokenSubject) -> None:
        wanted = _requested_members(subject, _OF_ID_TOKEN).get(name)
        value = wanted.get("value") if isinstance(wanted, dict) else None
        if isinstance(value, str):
            claims.put_claim(path, value)

    return add_claims


def _requested_members(subject: TokenSubject, member: str) -> Mapping[str, Any]:
    if not subject.requested_claims:
        return {}
    parameter = json.loads(subject.requested_claims)
    found = parameter.get(member) if isinstance(parameter, dict) else None
    return found if isinstance(found, dict) else {}


ESSENTIAL_CLAIMS: Final = ClaimMapper(
    "oidc-claims-param-token-mapper",
    frozenset({ClaimsFor.ID_TOKEN, ClaimsFor.USERINFO}),
    lambda _: _essential_claims,
)
VALUE_OF_CLAIM: Final = ClaimMapper(
    "oidc-claims-param-value-idtoken-mapper", frozenset({ClaimsFor.ID_TOKEN}), _value_of_claim
)
