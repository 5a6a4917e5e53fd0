"""Whether an access token of this realm holds now.

Signature, issuer, type, time, notBefore, the client and the service account it speaks for, and
revocation: one function in front of everything that accepts such a token.
Spec: RFC 8725 §3; RFC 7662 §4; Keycloak: 12.4
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.domain.errors import InvalidToken
from gateway.domain.ports.directory import ClientEntry, Directory
from gateway.domain.ports.storage import Database
from gateway.domain.users import User
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class ActiveToken:
    """A token that holds, the client it was issued to, and the user it speaks for."""

    claims: Mapping[str, Any]
    client: ClientEntry
    user: User


class AccessTokens:
    """Checks access tokens against keys, clients, users and revocations."""

    def __init__(self, directory: Directory, database: Database) -> None:
        """Look clients up in `directory`, revocations in `database`."""
        self._directory = directory
        self._database = database

    async def active(self, request: ProtocolRequest, token: str) -> ActiveToken:
        """Return the token's claims; raises InvalidToken with the reason, or StoreUnavailable."""
        claims = self.genuine(request, token)
        entry = await self._directory.client(request.realm.realm.id, str(claims.get("azp")))
        user = _require_current(request, claims, entry)
        async with self._database.read() as stores:
            revoked = await stores.revocations.is_revoked(
                request.realm.realm.id, str(claims["jti"])
            )
        if revoked or entry is None:
            raise InvalidToken("the token was revoked")
        return ActiveToken(claims, entry, user)

    def genuine(self, request: ProtocolRequest, token: str) -> Mapping[str, Any]:
        """Return the claims of an unexpired access token that this realm signed."""
        claims = request.realm.key_ring.verify(token, request.now)
        if claims.get("iss") != request.issuer:
            raise InvalidToken("issued by another issuer")
        if claims.get("typ") != "Bearer":
            raise InvalidToken("not an access token")
        if not isinstance(claims.get("jti"), str):
            raise InvalidToken("it has no jti")
        if _instant(claims, "exp") <= request.now.timestamp():
            raise InvalidToken("expired")
        return claims


def _require_current(
    request: ProtocolRequest, claims: Mapping[str, Any], entry: ClientEntry | None
) -> User:
    if entry is None or not entry.client.enabled:
        raise InvalidToken("its client is gone or disabled")
    not_before = max(request.realm.realm.not_before, entry.client.not_before)
    if _instant(claims, "iat") < not_before:
        raise InvalidToken("issued before the realm's or the client's notBefore")
    user = entry.service_account
    if user is None or not user.enabled or user.id != claims.get("sub"):
        raise InvalidToken("its user is gone or disabled")
    return user


def _instant(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidToken(f"{name} is not a number")
    return float(value)
