"""A property of the user under a claim of its own. Keycloak: user property mapper."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.users import User
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-usermodel-property-mapper"

PROPERTIES: Final = {
    "id": lambda user: user.id,
    "username": lambda user: user.username,
    "email": lambda user: user.email,
    "emailVerified": lambda user: user.email_verified,
    "firstName": lambda user: user.first_name,
    "lastName": lambda user: user.last_name,
}
"""Keycloak's property names; each reads one value of a user."""


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the property; absent when the user has no value."""
    value = _property(subject.user, mapper.config.get("user.attribute", ""))
    claim = mapper.config.get("claim.name")
    if claim and value is not None:
        claims[claim] = value


def _property(user: User, name: str) -> str | bool | None:
    read = PROPERTIES.get(name)
    return read(user) if read else None
