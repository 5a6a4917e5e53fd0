"""The subject of a token: its facts for claim mappers, and the `sub` by which a client knows it."""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from gateway.domain.clients import Client
from gateway.domain.errors import FieldError
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.representations.client_scopes import PAIRWISE_MAPPER, SECTOR_URI

SALT: Final = "pairwiseSubAlgorithmSalt"
SUBJECT_TYPES: Final = ("public", "pairwise")


def subject_identifier(client: Client, user_id: str) -> str:
    """Return the `sub` of a user for a client, pairwise where a mapper says so.

    It is computed from the mapper's salt, or its id. Spec: OpenID Connect Core §8.1; Keycloak:
    SHA256PairwiseSubMapper (26.7)
    """
    for mapper in client.protocol_mappers:
        if mapper.mapper_type == PAIRWISE_MAPPER:
            salt = mapper.config.get(SALT) or mapper.id
            sector = _host(mapper.config.get(SECTOR_URI) or "") or _sector(client)
            return _pairwise(sector, user_id, salt)
    return user_id


def is_subject(claim: object, client: Client, user_id: str) -> bool:
    """Return whether the `sub` of a token names the user, by the mapper or as before it."""
    return claim == user_id or claim == subject_identifier(client, user_id)


def check_pairwise(config: Mapping[str, str]) -> FieldError | None:
    """Return what is wrong with the configuration of the mapper."""
    address = config.get(SECTOR_URI) or ""
    if address and not (address.startswith("https://") and _host(address)):
        return FieldError(f"config.{SECTOR_URI}", "another address", "one that begins with https")
    return None


def _pairwise(sector: str, user_id: str, salt: str) -> str:
    """Return a UUID made of the hash, as Java makes one of bytes (version 3)."""
    digest = hashlib.sha256(f"{sector}{user_id}{salt}".encode()).digest()
    return str(uuid.UUID(bytes=hashlib.md5(digest, usedforsecurity=False).digest(), version=3))


def _sector(client: Client) -> str:
    """Return the one host of the redirect URIs, or else the client's id, a sector of its own."""
    root, patterns = client.redirects.root_url, client.redirects.patterns
    addresses = [f"{root}{each}" if each.startswith("/") else each for each in patterns]
    hosts = {_host(address) for address in addresses or [root]} - {None}
    return hosts.pop() or client.id if len(hosts) == 1 else client.id


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class TokenSubject:
    """User, client, visible roles, session notes, reached `acr`. Spec: OpenID Connect Core §2."""

    user: User
    client: Client
    identifier: str
    """The `sub` by which the client knows the user."""
    roles: EffectiveRoles
    session_notes: Mapping[str, str]
    acr: str
    groups: tuple[str, ...] = ()
    """Paths of the user's groups."""
    group_attributes: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    """Of its groups and of their parents, the nearest first."""
    session_id: str | None = None
    """None for a transient session."""
    authenticated_at: datetime | None = None
    """When the user signed in with credentials; None for a grant without pages."""
    requested_claims: str = field(default="", repr=False)
    """The parameter `claims` of the authorization request, empty without one."""
