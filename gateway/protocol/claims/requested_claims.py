"""Claims that the client asked for in the parameter `claims` of its authorization request.

Both mappers work where a client or a scope has them. What is essential to the client is added of
the user's standard claims; the value of one claim is copied as it was sent. Protocol claims are
never taken from a request.
Spec: OpenID Connect Core §5.5; Keycloak: ClaimsParameterTokenMapper,
ClaimsParameterWithValueIdTokenMapper
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.users import User
from gateway.protocol.claims.claim_paths import CLAIM_NAME, claim_path
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import AddClaims, ClaimMapper, ClaimsFor
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.protocol_mapper_types import CLAIM_PATH, MapperType

_OF_ID_TOKEN: Final = "id_token"  # noqa: S105 - a member of the parameter
_MEMBERS: Final[Mapping[str, str]] = {
    ClaimsFor.ID_TOKEN: _OF_ID_TOKEN,
    ClaimsFor.USERINFO: "userinfo",
}
"""Document -> the member of the parameter that asks for its claims."""


def _full_name(user: User) -> str | None:
    return " ".join(filter(None, (user.first_name, user.last_name))) or None


_STANDARD: Final[Mapping[str, Callable[[User], str | None]]] = {
    "name": _full_name,
    "given_name": lambda user: user.first_name,
    "family_name": lambda user: user.last_name,
    "preferred_username": lambda user: user.username,
    "email": lambda user: user.email,
}
"""The claims that may be asked for."""


def _essential(claims: MappedClaims, subject: TokenSubject) -> None:
    for name, wanted in _requested(subject, _MEMBERS.get(claims.purpose, "")).items():
        read = _STANDARD.get(name)
        if read is None or not isinstance(wanted, dict) or wanted.get("essential") is not True:
            continue
        value = read(subject.user)
        if value:
            claims.put((name,), value)


def _value(mapper: ProtocolMapper) -> AddClaims | None:
    path, name = claim_path(mapper.config), mapper.config.get(CLAIM_NAME, "")
    if path is None:
        return None

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        wanted = _requested(subject, _OF_ID_TOKEN).get(name)
        value = wanted.get("value") if isinstance(wanted, dict) else None
        if isinstance(value, str):
            claims.put(path, value)

    return add


def _requested(subject: TokenSubject, member: str) -> Mapping[str, Any]:
    """Return the claims that are asked for, with what is said about each."""
    if not subject.requested_claims:
        return {}
    parameter = json.loads(subject.requested_claims)
    found = parameter.get(member) if isinstance(parameter, dict) else None
    return found if isinstance(found, dict) else {}


ESSENTIAL_CLAIMS: Final = ClaimMapper(
    "oidc-claims-param-token-mapper",
    frozenset({ClaimsFor.ID_TOKEN, ClaimsFor.USERINFO}),
    lambda _: _essential,
    MapperType("Claims parameter Token", "Claims that the request calls essential"),
)
VALUE_OF_CLAIM: Final = ClaimMapper(
    "oidc-claims-param-value-idtoken-mapper",
    frozenset({ClaimsFor.ID_TOKEN}),
    _value,
    MapperType(
        "Claims parameter with value ID Token",
        "The value that the request gives for a claim",
        (CLAIM_PATH,),
    ),
)
