"""The deny list of a realm: administrators list, add and remove refused certificates.

An entry counts at every gateway within one second. The list of the realm master counts in every
realm.
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.changes import Change, Changes
from gateway.domain.certificates import MOST_DENIED, DeniedCertificate
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import deny_list_topic
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound
from gateway.representations.certificates import parse_denied_certificate, render_denied_certificate

_NOT_FOUND: Final = "Denied certificate not found"


class DenyListAdministration:
    """The use cases. All raise StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def list(
        self, realm: Realm, first: int = 0, maximum: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the entries of the realm, oldest first."""
        async with self._database.read() as stores:
            found = await stores.denied_certificates.list(realm.id, first, maximum)
        return [render_denied_certificate(entry) for entry in found]

    async def one(self, realm: Realm, identity: str) -> dict[str, Any]:
        """Return the entry; raises NotFound."""
        async with self._database.read() as stores:
            found = await stores.denied_certificates.find(realm.id, identity)
        if found is None:
            raise NotFound(_NOT_FOUND)
        return render_denied_certificate(found)

    async def add(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Add an entry and return its id; raises InvalidInput, InvalidRequest, AlreadyExists."""
        async with self._changes.begin(acting, alone=True) as change:
            entry = parse_denied_certificate(document, change.now)
            entries, realm_id = change.stores.denied_certificates, change.realm.id
            if await entries.count(realm_id) >= MOST_DENIED:
                raise InvalidRequest(
                    f"A realm has at most {MOST_DENIED} denied certificates: use a revocation list"
                )
            await entries.add(realm_id, entry)
            _record(change, OperationType.CREATE, entry)
        return entry.id

    async def remove(self, acting: Acting, identity: str) -> None:
        """Remove an entry; raises NotFound."""
        async with self._changes.begin(acting, alone=True) as change:
            entries, realm_id = change.stores.denied_certificates, change.realm.id
            entry = await entries.find(realm_id, identity)
            if entry is None:
                raise NotFound(_NOT_FOUND)
            await entries.remove(realm_id, identity)
            _record(change, OperationType.DELETE, entry)


def _record(change: Change, operation: OperationType, entry: DeniedCertificate) -> None:
    path = f"certificates/denied/{entry.id}"
    change.record(operation, ResourceType.CUSTOM, path, render_denied_certificate(entry))
    change.invalidate(deny_list_topic(change.realm.id))
