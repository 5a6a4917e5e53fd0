"""One administrative change: its transaction, its admin events, and its invalidations.

Events are stored in the transaction of the change; gateways are notified once it is committed.
A change may name the entity tag of the state that it is based on.
Keycloak: 10.4 admin events. Spec: RFC 9110 §8.8.3, §13.1.1 (strong comparison)
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, ParamSpec, TypeGuard

import orjson

from gateway.admin.access import Acting, require_may_change_realm, require_may_control
from gateway.domain.callers import Caller
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import AdminEvent, AuthDetails, OperationType, ResourceType
from gateway.domain.ports.invalidation import Invalidation, Topics
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import NotFound, PreconditionFailed

if TYPE_CHECKING:
    from gateway.representations.field_table import FieldTable

Given = ParamSpec("Given")


_TAG: Final = re.compile(r'(W/)?"[\x21\x23-\x7e]*"')


_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    """The text of a JSON document, and its tag in its quotes."""

    body: bytes = field(repr=False)
    tag: str

    @classmethod
    def of(cls, document: object) -> "RenderedDocument":
        body = orjson.dumps(document)
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def entity_tag(document: object) -> str:
    """Return the tag of a JSON document, in its quotes."""
    return RenderedDocument.of(document).tag


def names_state(if_match: str | None) -> TypeGuard[str]:
    """Tell whether the header names states; `*` and no header take every state."""
    return if_match is not None and if_match.strip() != _ANY


def require_match(if_match: str | None, *documents: object) -> None:
    """Raise PreconditionFailed if the header names another state than each of the documents."""
    if not names_state(if_match):
        return
    known = {found.group() for found in _TAG.finditer(if_match)}
    if known.isdisjoint(map(entity_tag, documents)):
        raise PreconditionFailed("it has changed since")


@dataclass(frozen=True, slots=True)
class _Noted:
    operation: OperationType
    resource: ResourceType
    path: str | None
    representation: object
    fields: "FieldTable | None"


class Change:
    """One transaction: `realm` as it is stored now, `now` the instant of the change."""

    def __init__(self, stores: Stores, realm: Realm, acting: Acting, now: datetime) -> None:
        self.stores = stores
        self.realm = realm
        self.acting = acting
        self.now = now
        self.topics = Topics()
        """What gateways invalidate: each topic once, a bounded number of them."""
        self._after = realm
        self._noted: list[_Noted] = []
        self.published = False
        """Whether the other gateways were sent a message; without one they read the change log."""

    def require_match(
        self, render: Callable[Given, object], *given: Given.args, **options: Given.kwargs
    ) -> None:
        """Raise PreconditionFailed if If-Match names another state than `render` returns.

        `render` is called only where the request has that header.
        """
        if names_state(self.acting.if_match):
            require_match(self.acting.if_match, render(*given, **options))

    async def require_loaded_match(
        self,
        load: Callable[Given, Awaitable[object]],
        *given: Given.args,
        **options: Given.kwargs,
    ) -> None:
        """Do the same with a document that has to be loaded."""
        if names_state(self.acting.if_match):
            require_match(self.acting.if_match, await load(*given, **options))

    def invalidate(self, topic: str) -> None:
        """Invalidate the topic in every gateway, once the change is committed."""
        self.topics.add(topic)

    async def replace_realm(self, realm: Realm) -> None:
        """Store the realm after the change; events are stored if it wants them before or after.

        The only way in which an administrator changes a realm. Raises MissingRights where a setting
        that proves accounts would change and the caller does not have the rights of all of them.
        """
        require_may_change_realm(self.acting, self.realm, realm, self.now)
        if realm != self.realm:
            await self.stores.realms.replace(realm)
        self._after = realm

    def record(
        self,
        operation: OperationType,
        resource: ResourceType,
        path: str | None = None,
        representation: object = None,
        fields: "FieldTable | None" = None,
    ) -> None:
        """Note the event; `representation` is the JSON that was sent, with its secrets.

        `fields` are the recorded fields; without a table the kind of the resource decides.
        """
        self._noted.append(_Noted(operation, resource, path, representation, fields))

    async def finish(self) -> None:
        """Record the topics, and store the events that the realm wants."""
        await self.stores.change_log.record(tuple(self.topics))
        before, after = self.realm.events, self._after.events
        if not (before.admin_enabled or after.admin_enabled):
            return
        details: list[str | None] = [None] * len(self._noted)
        if after.admin_details_enabled:
            # Masking a whole realm takes long: in a thread, other requests go on.
            details = await asyncio.to_thread(_details, self._noted)
        for noted, representation in zip(self._noted, details, strict=True):
            event = AdminEvent(
                id=str(uuid4()),
                realm_id=self.realm.id,
                time=self.now,
                operation=noted.operation,
                resource=noted.resource,
                resource_path=noted.path,
                auth=_auth(self.acting.caller, self.acting.address),
                representation=representation,
            )
            await self.stores.admin_events.add(event)


class Changes:
    """Opens the transactions of changes."""

    def __init__(self, database: Database, clock: Clock, invalidation: Invalidation) -> None:
        self.database = database
        self.clock = clock
        self._invalidation = invalidation

    @asynccontextmanager
    async def begin(
        self,
        acting: Acting,
        *,
        alone: bool = False,
        expect: Callable[[Stores], None] | None = None,
    ) -> AsyncIterator[Change]:
        """Open the transaction of a change to a realm; `alone` locks the realm's row.

        `expect` announces further reads of the change, which come with the realm.
        Raises NotFound if the realm is gone, Forbidden if an object that the request controls has
        more rights than the caller, and StoreUnavailable.
        """
        async with self.database.write() as stores:
            if expect is not None:
                expect(stores)
            find = stores.realms.get_for_update if alone else stores.realms.find_by_name
            realm = await find(acting.realm.name)
            if realm is None or realm.id != acting.realm.id:
                raise NotFound("Realm not found.")
            if acting.controls:
                await require_may_control(acting, stores, *acting.controls, lock=True)
            change = Change(stores, realm, acting, self.clock.now())
            yield change
            await change.finish()
        # The change is committed: gateways that a message does not reach read the change log.
        with suppress(StoreUnavailable):
            await self._invalidation.publish(tuple(change.topics))
            change.published = True


class Administration:
    """Use cases that read the database and change it; the classes of capabilities extend it."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._database = changes.database
        self._clock = changes.clock


def _details(noted: Iterable[_Noted]) -> list[str | None]:
    # Loaded with the first event: the tables of all representations take 80 ms.
    from gateway.representations.events import recorded  # noqa: PLC0415 - see above

    return [
        None
        if one.representation is None
        else recorded(one.resource, one.representation, one.fields)
        for one in noted
    ]


def _auth(caller: Caller | None, address: str | None) -> AuthDetails:
    if caller is None:
        return AuthDetails(ip_address=address)
    return AuthDetails(caller.realm.id, caller.client.id, caller.user.id, address)
