"""The subject's client roles, composites resolved. Keycloak: user client role mapper.

`${client_id}` in the claim's name and in the prefix stands for the client whose roles follow.
"""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.protocol_claims import ROLES
from gateway.protocol.claims.role_claims import prefixed, role_path, roles_writer
from gateway.protocol.claims.subject import TokenSubject

_PLACEHOLDER: Final = "${client_id}"
_USUAL: Final = ("resource_access", _PLACEHOLDER, ROLES)
"""Where nearly every realm has them: written without a second look."""
_CLIENT: Final = "usermodel.clientRoleMapping.clientId"
_PREFIX: Final = "usermodel.clientRoleMapping.rolePrefix"


def _prepare(mapper: ProtocolMapper) -> AddClaims | None:
    path = role_path(mapper.config)
    if path is None:
        return None
    if mapper.config.get(_CLIENT):
        return _of_one_client(mapper, path)
    every = _of_every_client(mapper, path)
    usual = path == _USUAL and not mapper.config.get(_PREFIX)
    return _as_usual(every) if usual else every


def _of_one_client(mapper: ProtocolMapper, path: tuple[str, ...]) -> AddClaims:
    write = roles_writer(mapper.config, path)
    wanted, prefix = mapper.config[_CLIENT], mapper.config.get(_PREFIX, "")
    where = _path_of(path, wanted)

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        for client, roles in subject.roles.clients:
            if client == wanted:
                write(claims, where, prefixed(prefix, roles))

    return add


def _of_every_client(mapper: ProtocolMapper, path: tuple[str, ...]) -> AddClaims:
    write = roles_writer(mapper.config, path)
    prefix = mapper.config.get(_PREFIX, "")

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        """Add the roles of every client; absent when there are none."""
        for client, roles in subject.roles.clients:
            before = prefix.replace(_PLACEHOLDER, client)
            write(claims, _path_of(path, client), prefixed(before, roles))

    return add


def _as_usual(every: AddClaims) -> AddClaims:
    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        if claims.client_roles:
            every(claims, subject)
        else:
            claims.client_roles = dict(subject.roles.clients)

    return add


def _path_of(path: tuple[str, ...], client: str) -> tuple[str, ...]:
    return tuple(part.replace(_PLACEHOLDER, client) for part in path)


MAPPER: Final = ClaimMapper("oidc-usermodel-client-role-mapper", EVERYWHERE, _prepare, late=True)
