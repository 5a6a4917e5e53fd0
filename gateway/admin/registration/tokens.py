"""Tokens of client registration, signed with the realm's secret key: only this realm reads them.

A registration access token belongs to one client and is replaced with each use; an initial access
token registers a number of clients. Keycloak: RegistrationAccessToken, InitialAccessToken (HS512)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import uuid4

from gateway.admin.changes import Change
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.realm import Realm
from gateway.representations.registration import ANONYMOUS, AUTHENTICATED, InitialAccess

_ORIGINS: Final = "allowed-origins"


class TokenKind(StrEnum):
    """The purpose of a token, its claim `typ`."""

    REGISTRATION = "RegistrationAccessToken"
    INITIAL = "InitialAccessToken"


@dataclass(frozen=True, slots=True)
class RegistrationToken:
    """A verified token; `anonymous` where its client was registered without a token.

    Pages of `origins` may use it.
    """

    kind: TokenKind
    id: str
    anonymous: bool = False
    origins: tuple[str, ...] = ()


class RegistrationTokens:
    """Makes and reads the tokens."""

    def __init__(self, directory: Directory, issuer: Callable[[str], str]) -> None:
        """Take keys from `directory`; `issuer` is the issuer of the realm with that name."""
        self._directory = directory
        self._issuer = issuer

    async def give(
        self,
        change: Change,
        client: Client,
        *,
        anonymous: bool = False,
        origins: tuple[str, ...] = (),
    ) -> str:
        """Issue a registration access token; it is the only valid one of the client.

        `anonymous`: the client was registered without a token. Pages of `origins` may use it.
        """
        token_id = str(uuid4())
        await change.stores.clients.set_registration_token(client.realm_id, client.id, token_id)
        claims = self._claims(change.realm, change.now, TokenKind.REGISTRATION, token_id, 0)
        registered = ANONYMOUS if anonymous else AUTHENTICATED
        claims |= {"registration_auth": registered, **_for_pages(origins)}
        return await self._signed(change.realm, claims, change.now)

    async def initial(self, realm: Realm, access: InitialAccess, now: datetime) -> str:
        claims = self._claims(realm, now, TokenKind.INITIAL, access.id, access.expires_at)
        return await self._signed(realm, claims | _for_pages(access.web_origins), now)

    def read(self, realm: RealmEntry, token: str, now: datetime) -> RegistrationToken:
        """Return the content of a token; raises InvalidToken unless it is one of ours and valid."""
        claims = realm.key_ring.verify_of_ourselves(token, now)
        if claims.get("iss") != self._issuer(realm.realm.name):
            raise InvalidToken("issued by another issuer")
        kind, token_id, expires = (claims.get(name) for name in ("typ", "jti", "exp"))
        if kind not in set(TokenKind) or not isinstance(token_id, str):
            raise InvalidToken("no token for registering clients")
        if not isinstance(expires, int) or 0 < expires <= now.timestamp():
            raise InvalidToken("expired")
        anonymous = claims.get("registration_auth") == ANONYMOUS
        origins = tuple(claims.get(_ORIGINS, ()))
        return RegistrationToken(TokenKind(kind), token_id, anonymous, origins)

    def _claims(
        self, realm: Realm, now: datetime, kind: TokenKind, token_id: str, expires: int
    ) -> dict[str, Any]:
        issuer = self._issuer(realm.name)
        return {
            "exp": expires,
            "iat": int(now.timestamp()),
            "jti": token_id,
            "iss": issuer,
            "aud": issuer,
            "typ": kind.value,
        }

    async def _signed(self, realm: Realm, claims: Mapping[str, Any], now: datetime) -> str:
        entry = await self._directory.realm(realm.name)
        if entry is None:
            raise LookupError("the realm no longer exists")
        return entry.key_ring.sign_for_ourselves(claims, now)


def _for_pages(origins: tuple[str, ...]) -> dict[str, list[str]]:
    return {_ORIGINS: list(origins)} if origins else {}
