"""An attribute of the user, or else of its groups, under a claim. Keycloak: user attribute mapper.

Of its groups the first that has it counts, of each its parents after it; `aggregate.attrs` takes
the values of them all, after the user's own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.users import User
from gateway.protocol.claims.claim_paths import values_writer
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject

OWN: Final[Mapping[str, Callable[[User], str | None]]] = {
    "username": lambda user: user.username,
    "email": lambda user: user.email,
    "firstName": lambda user: user.first_name,
    "lastName": lambda user: user.last_name,
}
"""Attributes that every user has a field for."""


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    name = mapper.config.get("user.attribute")
    write = values_writer(mapper.config)
    if not name or write is None:
        return None
    read = OWN.get(name)
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


MAPPER: Final = ClaimMapper("oidc-usermodel-attribute-mapper", EVERYWHERE, _prepare)
