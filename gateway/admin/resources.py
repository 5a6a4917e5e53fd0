"""Small resources: one declaration of a kind, and the use cases that follow it.

`ResourceKind` is plain data. Each adapter has one interpreter that reads it: `storage/sql`,
`http/admin` and `cli` have a module `resources.py`, realm files one in `realm_files`. The kinds are
in `resource_kinds.py`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, Protocol

from gateway.admin.access import Acting, AdminRole, existing
from gateway.admin.changes import Administration, Change, Changes
from gateway.domain.clients import Client
from gateway.domain.errors import AlreadyExists, FieldError
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest
from gateway.domain.resources import ResourceRepository, StoredKind, ValueT
from gateway.representations.field_table import FieldTable, parse_strictly
from gateway.representations.refusals import join, raise_all


@dataclass(frozen=True, slots=True)
class Summaries:
    """The imperative summaries of operations; one without a summary is not offered."""

    list: str
    create: str
    get: str
    replace: str = ""
    delete: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The pages of the admin console: columns of the list, and groups of fields of the form.

    `labels` and `help` are texts of fields, by name; a name is the label of a field without one.
    """

    room: str
    columns: tuple[str, ...]
    form: tuple[tuple[str, ...], ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileMember(Generic[ValueT]):
    """The member `name` of realm files: a list of documents, without read-only fields.

    Without a hook the rules of the admin API apply, where documents name the key. A file
    replaces values with the same id, and removes none.
    """

    name: str
    parse: Callable[[Any, str, str], Sequence[Any]] | None = None
    """Parses the list at a path of the file, for the realm of a name; raises InvalidInput."""
    resolve: Callable[[Stores, Realm, Any, Mapping[str, ValueT]], Awaitable[ValueT]] | None = None
    """Makes the value of a parsed item, with the known values by id; raises InvalidInput."""
    render: Callable[[ValueT, Mapping[str, Client]], dict[str, Any]] | None = None
    """Renders a value, with the clients of the realm by internal id."""
    keeps: Callable[[ValueT], bool] = lambda _: True
    """Whether files have the value."""


class Owner(Protocol):
    """The object that a value belongs to, by the id in the URL."""

    async def require_owner(self, stores: Stores, realm_id: str, owner: str) -> None:
        """Raise NotFound unless it exists."""

    async def require_changeable(self, change: Change, owner: str) -> None:
        """Raise NotFound or Forbidden unless its values may be changed."""


@dataclass(frozen=True, slots=True)
class Input(Generic[ValueT]):
    """A document to be parsed: `owner` is its object, `before` the value that it replaces."""

    content: Mapping[str, Any] = field(repr=False)
    realm_name: str
    now: datetime
    owner: str | None = None
    before: ValueT | None = None
    path: str = ""
    """Its place in a file, for errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceKind(Generic[ValueT]):
    """A kind of small resource of a realm, or of an object of the realm.

    `title` and `plural` are such as `Site` and `sites`. `path` is that of its URLs below the realm,
    with `{owner}` for the object; `key` is the JSON name of the field that ends the URL of a value.
    `most` values may be in a realm; `most_hint` ends the refusal of one more.
    """

    title: str
    plural: str
    path: str
    tag: str
    representation: str
    fields: FieldTable
    stored: StoredKind[ValueT]
    """The rows of the values; only their search, where `repository` has the values."""
    key: str = "id"
    placeholder: str = "id"
    """Of the key in URLs; `http/admin/endpoint.py` lists every placeholder."""
    required: tuple[str, ...] = ()
    summaries: Summaries
    page: Page
    view: tuple[AdminRole, ...]
    manage: tuple[AdminRole, ...]
    most: int
    most_hint: str = ""
    taken: str = ""
    """The refusal of a key that is taken, with `{key}`; where it is empty the table decides."""
    page_size: int | None = None
    """Values of a page without `max`; None: the list has no pages."""
    versioned: bool = False
    """Changes honor If-Match."""
    largest: int = 1024 * 1024
    """Bytes of a document."""
    describes_fields: bool = True
    """OpenAPI lists the fields."""
    event: ResourceType = ResourceType.CUSTOM
    event_fields: bool = True
    """Whether events record the public fields; else what `representations/events.py` lists."""
    topic: Callable[[str], str] = realm_topic
    """The topic that a change invalidates, of the id of the realm."""
    file: FileMember[ValueT] | None = None
    """None: realm files have no such values."""

    new: Callable[[datetime], ValueT] | None = None
    """A new value with the fields that the server gives; None where `parse` makes it."""
    parse: Callable[[Input[ValueT]], ValueT] | None = None
    """Parses a document that the table of fields does not describe; raises InvalidInput."""
    render: Callable[[ValueT], dict[str, Any]] | None = None
    """Renders a value that the table of fields does not describe."""
    check: Callable[[Change, ValueT], Any] | None = None
    """Awaited before a value is stored; raises InvalidRequest."""
    repository: Callable[[Stores], ResourceRepository[ValueT]] | None = None
    """The values where they are not the rows of one table."""
    owner: Owner | None = None
    identity: Callable[[str | None, str], str] = lambda _, key: key
    """The id of a stored value, of owner and key."""
    owner_column: str = ""

    def parse_document(self, document: Input[ValueT]) -> ValueT:
        """Return the value; raises UnknownField, and InvalidInput with every wrong field."""
        if self.parse is not None:
            return self.parse(document)
        path = document.path
        given = parse_strictly(document.content, self.fields.writable, self.representation, path)
        raise_all(
            FieldError(join(path, name), "nothing", "a value", sentence="it is missing")
            for name in self.required
            if name not in given
        )
        if self.new is None:
            raise TypeError(f"{self.title}: neither new nor parse")
        blank = self.with_read_only_fields(self.new(document.now), document.before)
        return self.fields.updated(blank, given)

    def render_document(self, value: ValueT) -> dict[str, Any]:
        """Return the JSON object."""
        return self.fields.render_present(value) if self.render is None else self.render(value)

    def key_of(self, value: ValueT) -> str:
        """Return what ends the URL of the value."""
        setting = self.fields.settings.get(self.key)
        return str(getattr(value, self.key if setting is None else setting.attribute))

    def identity_of(self, value: ValueT) -> str:
        """Return the id of the value among those of the realm."""
        owner = getattr(value, self.owner_column) if self.owner_column else None
        return self.identity(owner, self.key_of(value))

    def repository_of(self, stores: Stores) -> ResourceRepository[ValueT]:
        """Return where the values are."""
        return stores.resources(self.stored) if self.repository is None else self.repository(stores)

    @property
    def keeps_key(self) -> bool:
        """Whether a document names the key of its value."""
        setting = self.fields.settings.get(self.key)
        return setting is not None and not setting.read_only

    def with_read_only_fields(self, new: ValueT, before: ValueT | None) -> ValueT:
        """Return a new value with the read-only fields of the value that it replaces."""
        if before is None:
            return new
        given = (each.attribute for each in self.fields.settings.values() if each.read_only)
        return replace(new, **{name: getattr(before, name) for name in given})  # type: ignore[type-var] # always a dataclass


class ResourceAdministration(Administration, Generic[ValueT]):
    """The use cases of one kind. All raise StoreUnavailable.

    `owner` is the id of the object that the values belong to, None for those of the realm: NotFound
    where there is none.
    """

    def __init__(self, kind: ResourceKind[ValueT], changes: Changes) -> None:
        super().__init__(changes)
        self.kind = kind

    async def list_values(
        self,
        realm: Realm,
        first: int = 0,
        maximum: int | None = None,
        *,
        search: str = "",
        owner: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return the values in their order."""
        kind = self.kind
        of_owner = {kind.owner_column: owner} if kind.owner_column else {}
        async with self._database.read() as stores:
            if kind.owner is not None and owner is not None:
                await kind.owner.require_owner(stores, realm.id, owner)
            stored = kind.repository_of(stores)
            found = await stored.list_values(
                realm.id, first, maximum, search=search, where=of_owner
            )
        return [kind.render_document(value) async for value in in_slices(found)]

    async def get_value(self, realm: Realm, key: str, owner: str | None = None) -> dict[str, Any]:
        """Return the value; raises NotFound."""
        async with self._database.read() as stores:
            found = await self._get_value(stores, realm.id, key, owner)
        return self.kind.render_document(found)

    async def create_value(
        self, acting: Acting, document: Mapping[str, Any], owner: str | None = None
    ) -> str:
        """Add a value and return its key; raises InvalidInput, InvalidRequest, AlreadyExists."""
        given: Input[ValueT] = Input(document, acting.realm.name, self._clock.now(), owner)
        value = self.kind.parse_document(given)
        key = self.kind.key_of(value)
        async with self._changes.begin(acting, alone=True) as change:
            await self._require_changeable(change, owner)
            stored, realm_id = self.kind.repository_of(change.stores), change.realm.id
            identity = self.kind.identity(owner, key)
            if self.kind.taken and await stored.find_value(realm_id, identity) is not None:
                raise AlreadyExists(self.kind.taken.format(key=key))
            if await stored.count_values(realm_id) >= self.kind.most:
                limit = f"A realm has at most {self.kind.most} {self.kind.plural}"
                raise InvalidRequest(f"{limit}{self.kind.most_hint}")
            await self._check_value(change, value)
            await stored.add(realm_id, value)
            self._record(change, OperationType.CREATE, value, owner)
        return key

    async def replace_value(
        self, acting: Acting, key: str, document: Mapping[str, Any], owner: str | None = None
    ) -> None:
        """Replace a value, which keeps its key.

        Raises NotFound, InvalidInput, InvalidRequest, AlreadyExists and PreconditionFailed.
        """
        async with self._changes.begin(acting, alone=True) as change:
            before = await self._get_for_change(change, key, owner)
            if self.kind.keeps_key:
                document = {self.kind.key: key, **document}
            given = Input(document, change.realm.name, change.now, owner, before)
            value = self.kind.parse_document(given)
            if self.kind.key_of(value) != key:
                what = self.kind.title.lower()
                raise InvalidRequest(f"The {self.kind.key} of a {what} cannot be changed")
            await self._check_value(change, value)
            await self.kind.repository_of(change.stores).put_value(change.realm.id, value)
            self._record(change, OperationType.UPDATE, value, owner)

    async def remove_value(self, acting: Acting, key: str, owner: str | None = None) -> None:
        """Remove a value; raises NotFound and PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            value = await self._get_for_change(change, key, owner)
            identity = self.kind.identity(owner, key)
            await self.kind.repository_of(change.stores).remove_value(change.realm.id, identity)
            self._record(change, OperationType.DELETE, value, owner)

    async def _get_value(
        self, stores: Stores, realm_id: str, key: str, owner: str | None
    ) -> ValueT:
        found = await self.kind.repository_of(stores).find_value(
            realm_id, self.kind.identity(owner, key)
        )
        return existing(found, f"{self.kind.title} not found")

    async def _get_for_change(self, change: Change, key: str, owner: str | None) -> ValueT:
        """Return the value whose state the request names; raises also PreconditionFailed."""
        await self._require_changeable(change, owner)
        found = await self._get_value(change.stores, change.realm.id, key, owner)
        if self.kind.versioned:
            change.require_match(self.kind.render_document, found)
        return found

    async def _require_changeable(self, change: Change, owner: str | None) -> None:
        if self.kind.owner is not None and owner is not None:
            await self.kind.owner.require_changeable(change, owner)

    async def _check_value(self, change: Change, value: ValueT) -> None:
        if self.kind.check is not None:
            await self.kind.check(change, value)

    def _record(
        self, change: Change, operation: OperationType, value: ValueT, owner: str | None
    ) -> None:
        kind = self.kind
        path = f"{kind.path.format(owner=owner)}/{kind.key_of(value)}"
        document = kind.render_document(value)
        fields = kind.fields if kind.event_fields else None
        change.record(operation, kind.event, path, document, fields)
        change.invalidate(kind.topic(change.realm.id))
