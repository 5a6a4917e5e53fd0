"""Administration of registration tokens: initial access tokens, and the token of a client.

Keycloak: clients-initial-access, clients/{id}/registration-access-token
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    WireFamily,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.clients import changing_client
from gateway.admin.registration.tokens import RegistrationTokens
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.storage import Database, DocumentKind, Stores
from gateway.domain.realm import Realm
from gateway.representations.clients import client_representation
from gateway.representations.registration import (
    InitialAccess,
    parse_initial_access,
    render_initial_access,
    restore_initial_access,
    stored_initial_access,
)

_KIND: Final = DocumentKind.CLIENT_INITIAL_ACCESS
_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class InitialAccesses:
    """The use cases. All raise StoreUnavailable."""

    database: Database
    changes: Changes
    tokens: RegistrationTokens

    async def list(self, realm: Realm) -> list[dict[str, Any]]:
        """Return them, oldest first, without the tokens themselves."""
        async with self.database.read() as stores:
            return [render_initial_access(access) for access in await _all(stores, realm)]

    async def add(self, acting: Acting, document: Mapping[str, Any]) -> dict[str, Any]:
        """Issue an initial access token; raises InvalidInput and InvalidRequest."""
        expiration, count, origins = _read(document)
        async with self.changes.begin(acting, alone=True) as change:
            now = int(change.now.timestamp())
            access = InitialAccess(str(uuid4()), now, expiration, count, count, origins)
            await _remove_spent(change.stores, change.realm, now)
            await _put(change.stores, change.realm, access)
            token = await self.tokens.initial(change.realm, access, change.now)
            change.record(
                OperationType.CREATE,
                ResourceType.CLIENT_INITIAL_ACCESS_MODEL,
                f"clients-initial-access/{access.id}",
                document,
            )
        answer = render_initial_access(access)
        return {"id": answer.pop("id"), "token": token, **answer}

    async def remove(self, acting: Acting, access_id: str) -> None:
        async with self.changes.begin(acting, alone=True) as change:
            if await change.stores.documents.remove(change.realm.id, _KIND, access_id):
                change.record(
                    OperationType.DELETE,
                    ResourceType.CLIENT_INITIAL_ACCESS_MODEL,
                    f"clients-initial-access/{access_id}",
                )


class ClientRegistrationTokens:
    """The use case."""

    def __init__(self, changes: Changes, tokens: RegistrationTokens) -> None:
        self._changes = changes
        self._tokens = tokens

    async def renew(self, acting: Acting, client_id: str) -> dict[str, Any]:
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
    document = await change.stores.documents.find(change.realm.id, _KIND, access_id)
    access = restore_initial_access(document) if document else None
    if access is None or access.is_spent(int(change.now.timestamp())):
        return False
    rest = replace(access, remaining=access.remaining - 1)
    await _put(change.stores, change.realm, rest)
    return True


def _read(document: Mapping[str, Any]) -> tuple[int, int, tuple[str, ...]]:
    expiration, count, origins = parse_initial_access(document)
    if expiration < 0:
        text = "The expiration time interval cannot be less than 0"
        raise InvalidRequest(text, WireFamily.OAUTH, code="Invalid value for expiration")
    if count < 0:
        raise InvalidRequest(
            "The count cannot be less than 0", WireFamily.OAUTH, code="Invalid value for count"
        )
    return expiration, count, origins


async def _all(stores: Stores, realm: Realm) -> list[InitialAccess]:
    documents = await stores.documents.list(realm.id, _KIND)
    found = [restore_initial_access(document) for document in documents.values()]
    return sorted(found, key=lambda access: (access.timestamp, access.id))


async def _remove_spent(stores: Stores, realm: Realm, now: int) -> None:
    known = await _all(stores, realm)
    spent = [access for access in known if access.is_spent(now)]
    if len(known) - len(spent) >= _MOST:
        raise InvalidRequest(
            f"More than {_MOST} initial access tokens", WireFamily.OAUTH, code="invalid_request"
        )
    for access in spent:
        await stores.documents.remove(realm.id, _KIND, access.id)


async def _put(stores: Stores, realm: Realm, access: InitialAccess) -> None:
    await stores.documents.put(realm.id, _KIND, access.id, stored_initial_access(access))
