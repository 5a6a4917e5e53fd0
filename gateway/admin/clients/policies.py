"""Reading and replacing a realm's client profiles and policies.

Keycloak: 7.1 (client-policies)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.admin.access import (
    Acting,
)
from gateway.admin.changes import Changes
from gateway.client_policies import list_global_profiles
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.realms import (
    render_policies,
    render_profiles,
    with_policies,
    with_profiles,
)


@dataclass(frozen=True, slots=True)
class Part:
    """One of the two documents: `path` below the realm, how to render and how to replace it.

    `of_every_realm` is what no realm can change.
    """

    path: str
    shown: Callable[[Realm], dict[str, Any]]
    changed: Callable[[Realm, Mapping[str, Any]], Realm]
    of_every_realm: Mapping[str, Any]


PROFILES: Final = Part(
    *("client-policies/profiles", render_profiles, with_profiles),
    {"globalProfiles": list_global_profiles()},
)
POLICIES: Final = Part(
    *("client-policies/policies", render_policies, with_policies), {"globalPolicies": []}
)


class ClientPolicies:
    """Reads and replaces. All methods raise StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def shown(self, realm: Realm, part: Part) -> dict[str, Any]:
        async with self._database.read() as stores:
            stored = await stores.realms.find_by_name(realm.name)
        return part.shown(stored or realm)

    async def replace(self, acting: Acting, part: Part, document: Mapping[str, Any]) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            change.require_match(part.shown, change.realm)
            realm = part.changed(change.realm, document)
            await change.replace_realm(realm)
            change.invalidate(realm_topic(realm.id))
            change.record(OperationType.UPDATE, ResourceType.REALM, part.path, document)
