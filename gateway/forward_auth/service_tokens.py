"""The JWT that a protected service may verify: the identity, signed for the site's audience.

It is no access token: no endpoint accepts its claim `typ`. Spec: RFC 7519, RFC 8725 §3.11
"""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.domain.clock import Clock
from gateway.domain.forward_auth import Identity
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.directory import Directory
from gateway.domain.roles import parse_client_role
from gateway.protocol.errors import OAuthError

SERVICE_TOKEN_TYPE: Final = "Service"  # noqa: S105 - a kind of token
LIFESPAN: Final = timedelta(seconds=60)
_AGE: Final = timedelta(seconds=15)
"""How long one is sent again to the same service for the same identity."""
_REMEMBERED_BYTES: Final = 8 * 1024 * 1024


class ServiceTokens:
    """Signs tokens by the realm's default algorithm."""

    def __init__(self, directory: Directory, issuer: Callable[[str], str], clock: Clock) -> None:
        self._directory = directory
        self._issuer = issuer
        self._clock = clock
        self._signed: SizedCache[tuple[Identity, str], tuple[str, datetime]] = SizedCache(
            _REMEMBERED_BYTES
        )

    async def token(self, identity: Identity, audience: str) -> str:
        """Return the compact JWS; raises OAuthError where the realm has no key for it."""
        now = self._clock.now()
        known = self._signed.get((identity, audience))
        if known is not None and known[1] <= now < known[1] + _AGE:
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

    def _claims(self, identity: Identity, audience: str, now: datetime) -> dict[str, Any]:
        claims: dict[str, Any] = {
            "iss": self._issuer(identity.realm),
            "aud": audience,
            "sub": identity.subject,
            "iat": int(now.timestamp()),
            "exp": int((now + LIFESPAN).timestamp()),
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


def _client_roles(identity: Identity) -> dict[str, Any]:
    """Return the roles by client."""
    access: dict[str, Any] = {}
    for role in sorted(identity.client_roles):
        client, name = parse_client_role(role)
        access.setdefault(client, {"roles": []})["roles"].append(name)
    return access
