"""A property of the user under a claim of its own. Keycloak: user property mapper."""

from collections.abc import Callable, Mapping
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.users import User
from gateway.protocol.claims.claim_paths import values_writer
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject

_PROPERTIES: Final[Mapping[str, Callable[[User], str | None]]] = {
    "id": lambda user: user.id,
    "username": lambda user: user.username,
    "email": lambda user: user.email,
    "emailVerified": lambda user: _word(user.email_verified),
    "enabled": lambda user: _word(user.enabled),
    "firstName": lambda user: user.first_name,
    "lastName": lambda user: user.last_name,
    "createdTimestamp": lambda user: str(int(user.created_at.timestamp() * 1000)),
    "serviceAccountClientLink": lambda user: user.service_account_client,
}
"""Keycloak's property names; each reads one value of a user, as a text."""


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    name = mapper.config.get("user.attribute", "")
    read = _PROPERTIES.get(name[:1].lower() + name[1:])
    write = values_writer(mapper.config)
    if read is None or write is None:
        return None

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        """Add the property; absent when the user has no value."""
        value = read(subject.user)
        if value is not None:
            write(claims, (value,))

    return add


def _word(flag: bool) -> str:  # noqa: FBT001 - turns a truth value into its word
    return "true" if flag else "false"


MAPPER: Final = ClaimMapper("oidc-usermodel-property-mapper", EVERYWHERE, _prepare)
