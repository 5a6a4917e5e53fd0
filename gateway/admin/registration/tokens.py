"""Initial access tokens and registration access tokens: issued, verified, administered.

They are signed with the realm's secret key: only this realm reads them. A registration access token
belongs to one client and is replaced with each use; an initial access token registers a number of
clients.
Keycloak: RegistrationAccessToken, InitialAccessToken (HS512); clients-initial-access,
clients/{id}/registration-access-token
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.clients import changing_client
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.lookups import Directory, RealmEntry
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.representations.clients import client_representation
from gateway.representations.registration_policies import (
    ANONYMOUS,
    AUTHENTICATED,
    InitialAccess,
    parse_initial_access,
    render_initial_access,
    restore_initial_access,
    stored_initial_access,
)

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

    def verify_token(self, realm: RealmEntry, token: str, now: datetime) -> RegistrationToken:
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


_KIND: Final = DocumentKind.CLIENT_INITIAL_ACCESS
_MOST: Final = 1_000


class RegistrationTokenAdministration(Administration):
    """Initial access tokens of a realm, and registration access tokens of its clients."""

    def __init__(self, changes: Changes, tokens: RegistrationTokens) -> None:
        super().__init__(changes)
        self._tokens = tokens

    async def list_accesses(self, realm: Realm) -> list[dict[str, Any]]:
        """Return the initial accesses, oldest first, without their tokens."""
        async with self._database.read() as stores:
            return [render_initial_access(access) for access in await _list_accesses(stores, realm)]

    async def create_access(self, acting: Acting, document: Mapping[str, Any]) -> dict[str, Any]:
        """Issue an initial access token; raises InvalidInput and InvalidRequest."""
        expiration, count, origins = _parse_new_access(document)
        async with self._changes.begin(acting, alone=True) as change:
            now = int(change.now.timestamp())
            access = InitialAccess(str(uuid4()), now, expiration, count, count, origins)
            await _remove_spent(change.stores, change.realm, now)
            await _store_access(change.stores, change.realm, access)
            token = await self._tokens.initial(change.realm, access, change.now)
            change.record(
                OperationType.CREATE,
                ResourceType.CLIENT_INITIAL_ACCESS_MODEL,
                f"clients-initial-access/{access.id}",
                document,
            )
        answer = render_initial_access(access)
        return {"id": answer.pop("id"), "token": token, **answer}

    async def remove_access(self, acting: Acting, access_id: str) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            if await change.stores.documents.remove_document(change.realm.id, _KIND, access_id):
                change.record(
                    OperationType.DELETE,
                    ResourceType.CLIENT_INITIAL_ACCESS_MODEL,
                    f"clients-initial-access/{access_id}",
                )

    async def renew_client_token(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Replace the client's token; return the client with it. Raises NotFound, Forbidden."""
        async with changing_client(self._changes, acting, client_id) as (change, client):
            token = await self._tokens.give(change, client)
            document = client_representation(client, masked=False, registration_token=token)
            path = f"clients/{client.id}/registration-access-token"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path, document)
        return document


async def use_up(change: Change, access_id: str) -> bool:
    """Count one registration; return whether one was left.

    The change locks the realm: of two requests for the last one, one gets it.
    """
    access = await _find_access(change.stores, change.realm.id, access_id)
    if access is None or access.is_spent(int(change.now.timestamp())):
        return False
    rest = replace(access, remaining=access.remaining - 1)
    await _store_access(change.stores, change.realm, rest)
    return True


async def has_registration_left(stores: Stores, realm_id: str, access_id: str) -> bool:
    """Tell whether an initial access token, which has not expired, may register one more client."""
    access = await _find_access(stores, realm_id, access_id)
    return access is not None and access.remaining > 0


async def _find_access(stores: Stores, realm_id: str, access_id: str) -> InitialAccess | None:
    document = await stores.documents.find_document(realm_id, _KIND, access_id)
    return restore_initial_access(document) if document else None


def _parse_new_access(document: Mapping[str, Any]) -> tuple[int, int, tuple[str, ...]]:
    expiration, count, origins = parse_initial_access(document)
    if expiration < 0:
        text = "The expiration time interval cannot be less than 0"
        raise InvalidRequest(text, WireFamily.OAUTH, code="Invalid value for expiration")
    if count < 0:
        raise InvalidRequest(
            "The count cannot be less than 0", WireFamily.OAUTH, code="Invalid value for count"
        )
    return expiration, count, origins


async def _list_accesses(stores: Stores, realm: Realm) -> list[InitialAccess]:
    documents = await stores.documents.list_documents(realm.id, _KIND)
    found = [restore_initial_access(document) for document in documents.values()]
    return sorted(found, key=lambda access: (access.timestamp, access.id))


async def _remove_spent(stores: Stores, realm: Realm, now: int) -> None:
    known = await _list_accesses(stores, realm)
    spent = [access for access in known if access.is_spent(now)]
    if len(known) - len(spent) >= _MOST:
        raise InvalidRequest(
            f"More than {_MOST} initial access tokens", WireFamily.OAUTH, code="invalid_request"
        )
    for access in spent:
        await stores.documents.remove_document(realm.id, _KIND, access.id)


async def _store_access(stores: Stores, realm: Realm, access: InitialAccess) -> None:
    await stores.documents.put_document(realm.id, _KIND, access.id, stored_initial_access(access))
