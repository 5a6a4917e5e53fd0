"""Creating a realm: all of its representation, or nothing.

A caller who may create realms without administering all of them gets all rights over the new one.
Keycloak: 7.1 (POST realms), 9 (`create-realm`)
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from gateway.admin.access import (
    ADMIN,
    CREATE_REALM,
    Acting,
    AdminRole,
    Forbidden,
    InvalidRequest,
    RoleIndex,
    administration_client,
    may_create_realms,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.realm_files.client_policies import apply_policies
from gateway.admin.realm_files.plan import RealmPlan, RealmPlanner
from gateway.admin.realms import require_sender
from gateway.admin.users import PrecomputedHashes
from gateway.authentication.new_passwords import NewPasswords
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.event_loop import free_in_slices
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.invalidation import client_topic, user_topic
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm
from gateway.representations.realms import require_known_realm_fields
from gateway.representations.roles import RoleName


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmCreation:
    """Creates realms."""

    database: Database
    changes: Changes
    keys: KeyFactory
    authorities: AuthorityParser
    passwords: PasswordHasher
    gate: NewPasswords
    clock: Clock

    async def create(self, acting: Acting, document: Mapping[str, Any]) -> Realm:
        """Create the realm and all in it; Forbidden unless `acting.realm` is `master`.

        Raises Forbidden, InvalidRequest, UnknownField, InvalidInput and AlreadyExists.
        """
        if not may_create_realms(acting):
            raise Forbidden(f"not {CREATE_REALM} in {MASTER}")
        await asyncio.to_thread(require_known_realm_fields, document)
        if document.get("realm") in (None, ""):
            raise InvalidRequest("Realm name cannot be empty")
        require_sender(document)
        if document.get("id") in (None, ""):
            document = {**document, "id": str(uuid4())}
        hashes = PrecomputedHashes(self.passwords)
        planner = RealmPlanner(
            keys=self.keys,
            passwords=hashes,
            gate=self.gate,
            clock=self.clock,
            authorities=self.authorities,
        )
        plan = await self._read(acting, planner, hashes, document)
        async with self.changes.begin(acting) as change:
            await _require_free(change, plan.realm)
            imported = await planner.apply(change.stores, plan)
            for topic in imported.topics:
                change.invalidate(topic)
            await _grant_rights(change, plan.realm)
            change.record(OperationType.CREATE, ResourceType.REALM, plan.realm.name, document)
        realm, parts = plan.realm, [*plan.clients, *plan.users]
        del plan
        await free_in_slices(parts)
        return realm

    async def _read(
        self,
        acting: Acting,
        planner: RealmPlanner,
        hashes: PrecomputedHashes,
        document: Mapping[str, Any],
    ) -> RealmPlan:
        """Read all, and hash the passwords while other writers need not wait.

        Raises InvalidRequest for a client that a client policy of the document refuses.
        """
        async with self.database.read() as stores:
            plan = await planner.read(stores, document, None, "")
            if await stores.realms.find_by_name(plan.realm.name) is not None:
                raise _taken(plan.realm)
            clients = await apply_policies(
                *(stores, plan.realm, plan.clients, plan.roles), acting=acting, clock=self.clock
            )
            plan = replace(plan, clients=clients)
            new = await plan.new_passwords(stores)
        await hashes.compute(plan.realm, new)
        return plan


async def _require_free(change: Change, realm: Realm) -> None:
    """Refuse a taken name; also where `master` has the client for its administrators already.

    The owner of that client would have rights over the realm.
    """
    stores = change.stores
    if await stores.realms.find_by_name(realm.name) is not None:
        raise _taken(realm)
    if await stores.realms.exists(realm.id):
        raise AlreadyExists(f"Realm with id {realm.id} already exists")
    client = administration_client(realm.name)
    if await stores.clients.find_by_client_id(change.realm.id, client) is not None:
        raise AlreadyExists(f"Client {client} already exists")


def _taken(realm: Realm) -> AlreadyExists:
    return AlreadyExists(f"Realm {realm.name} already exists")


async def _grant_rights(change: Change, realm: Realm) -> None:
    caller, held = change.acting.caller, change.acting.rights.held
    if caller is None or (held is not None and ADMIN in held.realm):
        return
    stores, master = change.stores, change.realm
    client = await stores.clients.find_by_client_id(master.id, administration_client(realm.name))
    if client is None:
        raise LookupError("a new realm has a client in master")
    index = RoleIndex(stores, master, {client.client_id: client.id})
    await index.load()
    roles = (RoleName(role, client.client_id) for role in AdminRole)
    await stores.roles.grant(master.id, caller.user.id, index.ids(roles, "roles"))
    change.invalidate(user_topic(caller.realm.id, caller.user.id))
    if caller.user.service_account_client is not None:
        change.invalidate(client_topic(caller.realm.id, caller.user.service_account_client))
