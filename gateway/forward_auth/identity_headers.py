"""A protected service knows its caller by these headers and token. Spec: RFC 7519; attacks: B6."""

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from gateway.domain.clock import Clock
from gateway.domain.forward_auth import AssertedIdentity
from gateway.domain.groups import render_names
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.lookups import Directory
from gateway.domain.roles import parse_client_role
from gateway.domain.tables import build_value, read_table
from gateway.protocol.errors import OAuthError

REMOTE_USER: Final = "Remote-User"
REMOTE_EMAIL: Final = "Remote-Email"
REMOTE_GROUPS: Final = "Remote-Groups"
REMOTE_ROLES: Final = "Remote-Roles"
REALM: Final = "X-Realmgate-Realm"
SUBJECT: Final = "X-Realmgate-Subject"
CLIENT: Final = "X-Realmgate-Client"
CERTIFICATE: Final = "X-Realmgate-Certificate"
CREDENTIAL: Final = "X-Realmgate-Credential"
TOKEN: Final = "X-Realmgate-Token"  # noqa: S105 - the name of a header
AUTHORIZATION: Final = "X-Realmgate-Authorization"
"""`remove`: the proxy removes the caller's Authorization before the service."""
IDENTITY_HEADERS: Final = (
    REMOTE_USER,
    REMOTE_EMAIL,
    REMOTE_GROUPS,
    REMOTE_ROLES,
    REALM,
    SUBJECT,
    CLIENT,
    CERTIFICATE,
    CREDENTIAL,
    TOKEN,
)
LONGEST_VALUE: Final = 4096
"""Characters of one header; a longer list loses its last members, a longer text is left out."""
_SAFE_IN_TEXT: Final = " !\"#$&'()*+,/:;<=>?@[\\]^`{|}"
_SAFE_IN_LIST: Final = _SAFE_IN_TEXT.replace(",", "")


def identity_headers(identity: AssertedIdentity) -> tuple[tuple[str, str], ...]:
    """Return the headers that have a value, percent-encoded to printable ASCII. attacks: B6.

    `Remote-Email` is sent for verified addresses alone. `Remote-Roles` has realm roles by name and
    client roles as `client/role`; a slash in a name is `~/`. A certificate without a client has no
    `Remote-User`. Lists encode commas. The proxy removes all of `IDENTITY_HEADERS` from requests.
    """
    email = identity.email if identity.email_verified else None
    realm_roles = (render_names((role,)) for role in sorted(identity.realm_roles))
    values = (
        (REMOTE_USER, _text(identity.username)),
        (REMOTE_EMAIL, _text(email)),
        (REMOTE_GROUPS, _join_members(identity.groups)),
        (REMOTE_ROLES, _join_members((*realm_roles, *sorted(identity.client_roles)))),
        (REALM, _text(identity.realm)),
        (SUBJECT, _text(identity.subject)),
        (CLIENT, _text(identity.client_id)),
        (CERTIFICATE, _text(identity.thumbprint)),
        (CREDENTIAL, identity.kind.value),
    )
    return tuple((name, value) for name, value in values if value)


def _text(value: str | None) -> str:
    encoded = _encoded(value or "", _SAFE_IN_TEXT)
    return encoded if len(encoded) <= LONGEST_VALUE else ""


def _join_members(members: Iterable[str]) -> str:
    listed, length = [], 0
    for member in members:
        encoded = _encoded(member, _SAFE_IN_LIST)
        length += len(encoded) + 1
        if length > LONGEST_VALUE:
            break
        listed.append(encoded)
    return ",".join(listed)


def _encoded(value: str, safe: str) -> str:
    """Return the value; white space around it is encoded, or a parser would cut it off."""
    encoded = quote(value, safe=safe)
    inner = encoded.strip(" ")
    if inner == encoded:
        return encoded
    before = len(encoded) - len(encoded.lstrip(" "))
    after = len(encoded) - len(inner) - before
    return f"{'%20' * before}{inner}{'%20' * after}"


@dataclass(frozen=True, slots=True)
class HeaderFamily:
    """The headers of one product; `beginnings` are those of further names, in lower case."""

    product: str
    names: tuple[str, ...]
    beginnings: tuple[str, ...] = ()


SET_BY_PROXY: Final = (
    *("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port"),
    *("X-Real-IP", "X-Request-Id", *IDENTITY_HEADERS),
)
"""Overwritten by every proxy, so not removed."""
_TABLE: Final = read_table("gateway.forward_auth", "identity_headers.toml")
OWN_FAMILIES: Final = build_value(tuple[HeaderFamily, ...], _TABLE["own"])
"""For these, the configurations of proxies that know patterns have lines of their own."""
OTHER_FAMILIES: Final = build_value(tuple[HeaderFamily, ...], _TABLE["other"])
FAMILIES: Final[tuple[HeaderFamily, ...]] = (*OWN_FAMILIES, *OTHER_FAMILIES)
REMOVED: Final = tuple(name for family in FAMILIES for name in family.names)
"""Every name that each proxy removes."""
_LISTED: Final = frozenset(name.lower() for name in (*REMOVED, *SET_BY_PROXY))
_BEGINNINGS: Final = tuple(text for family in FAMILIES for text in family.beginnings)
_SEPARATOR: Final = re.compile("[^a-z0-9]")
_LONGEST_CACHED: Final = 64
"""Bytes of a name: the cache has few long names, which callers make up."""


def is_unremovable(name: bytes) -> bool:
    """Return whether a header belongs to a family, in a form that not every proxy removes.

    Names are compared in lower case, with `-` for all but letters and digits. nginx and Traefik
    know no patterns, so other spellings and unlisted members are refused.
    `scripts/removed_headers.py` writes the lists of the proxies. attacks: A4, B6
    """
    if len(name) > _LONGEST_CACHED:
        return _find_unremovable(name)
    return _cached(name)


def _find_unremovable(name: bytes) -> bool:
    text = name.decode("latin-1").lower()
    if text in _LISTED:
        return False
    shape = _SEPARATOR.sub("-", text)
    return shape in _LISTED or shape.startswith(_BEGINNINGS)


# Called for every header of every request: a cache in C costs a fifth of one in Python.
_cached: Final = lru_cache(maxsize=2048)(_find_unremovable)


SERVICE_TOKEN_TYPE: Final = "Service"  # noqa: S105 - a kind of token
SERVICE_TOKEN_LIFESPAN: Final = timedelta(seconds=60)
_CACHED_FOR: Final = timedelta(seconds=15)
"""How long one is sent again to the same service for the same identity."""
_CACHED_TOKEN_BYTES: Final = 8 * 1024 * 1024


class ServiceTokens:
    """Signs JWTs that no endpoint accepts as access token. Spec: RFC 7519, RFC 8725 §3.11."""

    def __init__(self, directory: Directory, issuer: Callable[[str], str], clock: Clock) -> None:
        self._directory = directory
        self._issuer = issuer
        self._clock = clock
        self._signed: SizedCache[tuple[AssertedIdentity, str], tuple[str, datetime]] = SizedCache(
            _CACHED_TOKEN_BYTES
        )

    async def token(self, identity: AssertedIdentity, audience: str) -> str:
        """Return the compact JWS; raises OAuthError where the realm has no key for it."""
        now = self._clock.now()
        known = self._signed.get((identity, audience))
        if known is not None and known[1] <= now < known[1] + _CACHED_FOR:
            return known[0]
        entry = await self._directory.realm(identity.realm)
        if entry is None:
            raise OAuthError("server_error", f"the realm {identity.realm} does not exist")
        claims = self._claims(identity, audience, now)
        try:
            signed = entry.key_ring.sign(claims, entry.realm.signature_algorithm, now)
        except (ValueError, LookupError) as error:
            raise OAuthError("server_error", "the realm has no key to sign with") from error
        self._signed.put((identity, audience), (signed, now))
        return signed

    def _claims(self, identity: AssertedIdentity, audience: str, now: datetime) -> dict[str, Any]:
        claims: dict[str, Any] = {
            "iss": self._issuer(identity.realm),
            "aud": audience,
            "sub": identity.subject,
            "iat": int(now.timestamp()),
            "exp": int((now + SERVICE_TOKEN_LIFESPAN).timestamp()),
            "jti": str(uuid.uuid4()),
            "typ": SERVICE_TOKEN_TYPE,
            "azp": identity.client_id,
            "sid": identity.session_id,
            "scope": " ".join(sorted(identity.scopes)),
            "preferred_username": identity.username or None,
            "email": identity.email,
            "email_verified": identity.email_verified if identity.email else None,
            "groups": list(identity.groups),
            "realm_access": {"roles": sorted(identity.realm_roles)},
            "resource_access": _client_roles(identity),
            "credential": identity.kind.value,
        }
        if identity.thumbprint is not None:
            claims["cnf"] = {"x5t#S256": identity.thumbprint}
        return {name: value for name, value in claims.items() if value is not None}


def _client_roles(identity: AssertedIdentity) -> dict[str, Any]:
    access: dict[str, Any] = {}
    for role in sorted(identity.client_roles):
        client, name = parse_client_role(role)
        access.setdefault(client, {"roles": []})["roles"].append(name)
    return access
