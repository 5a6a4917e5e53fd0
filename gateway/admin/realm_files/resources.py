"""Small resources in realm files, by the declaration of their kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic

from gateway.admin.resource_kinds import RESOURCE_KINDS
from gateway.admin.resources import FileMember, Input, ResourceKind
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.resources import ValueT
from gateway.representations.field_table import FieldNames
from gateway.representations.refusals import (
    collect_refusals,
    mistyped,
    parse_each,
    raise_all,
    refused_items,
)


@dataclass(frozen=True, slots=True)
class FileValues(Generic[ValueT]):
    """The values of one kind that a realm file has, parsed."""

    kind: ResourceKind[ValueT]
    member: FileMember[ValueT]
    items: Sequence[Any] = field(repr=False)

    async def store(self, stores: Stores, realm: Realm) -> bool:
        """Store the values; return whether anything has changed.

        Raises InvalidInput for unknown names and too many values, AlreadyExists for names that
        belong to others.
        """
        if not self.items:
            return False
        kind, stored = self.kind, self.kind.repository_of(stores)
        listed = filter(self.member.keeps, await stored.list_values(realm.id))
        known = {kind.identity_of(value): value for value in listed}
        errors: list[FieldError] = []
        given: dict[str, ValueT] = {}
        async for item in in_slices(self.items):
            with collect_refusals(errors):
                value = await self._resolve(stores, realm, item, known)
                given[kind.identity_of(value)] = value
        raise_all(errors)
        total = len(known.keys() | given.keys())
        if total > kind.most:
            allowed = f"at most {kind.most} in the realm"
            raise_all((FieldError(self.member.name, f"{total} {kind.plural}", allowed),))
        changed = [value for identity, value in given.items() if value != known.get(identity)]
        for value in changed:
            await stored.put_value(realm.id, value)
        return bool(changed)

    async def _resolve(
        self, stores: Stores, realm: Realm, item: Any, known: Mapping[str, ValueT]
    ) -> ValueT:
        if self.member.resolve is None:
            value: ValueT = item
            return self.kind.with_read_only_fields(value, known.get(self.kind.identity_of(value)))
        return await self.member.resolve(stores, realm, item, known)


@dataclass(frozen=True, slots=True)
class FileValueParser:
    """Parses the values of every kind in the file of a realm."""

    kinds: Sequence[ResourceKind[Any]]
    realm_name: str
    clock: Clock

    def parse(self, document: Mapping[str, Any], path: str) -> tuple[FileValues[Any], ...]:
        """Return the values of each kind; raises InvalidInput with every wrong field."""
        errors: list[FieldError] = []
        found = []
        for kind in self.kinds:
            if kind.file is not None:
                with collect_refusals(errors):
                    items = self._parse_items(kind, kind.file, document, path)
                    found.append(FileValues(kind, kind.file, items))
        raise_all(errors)
        return tuple(found)

    def _parse_items(
        self,
        kind: ResourceKind[Any],
        member: FileMember[Any],
        document: Mapping[str, Any],
        path: str,
    ) -> Sequence[Any]:
        errors: list[FieldError] = []
        names = FieldNames((member.name,))
        at, found = names.collect(document, path, errors).get(member.name, ("", []))
        raise_all(errors)
        if member.parse is not None:
            return member.parse(found, at, self.realm_name)
        if not isinstance(found, list) or len(found) > kind.most:
            raise refused_items(at, found, list, f"a list of at most {kind.most} {kind.plural}")
        return parse_each(found, partial(self._parse_item, kind), at)

    def _parse_item(self, kind: ResourceKind[Any], item: Any, path: str) -> Any:
        if not isinstance(item, Mapping):
            raise mistyped(path, item, "an object")
        return kind.parse_document(Input(item, self.realm_name, self.clock.now(), path=path))


async def render_file_values(
    stores: Stores, realm_id: str, clients: Mapping[str, Client]
) -> dict[str, Any]:
    """Return the members of a realm file, without those that have no value."""
    members: dict[str, Any] = {}
    for kind in RESOURCE_KINDS:
        if kind.file is None:
            continue
        stored = await kind.repository_of(stores).list_values(realm_id)
        values = filter(kind.file.keeps, stored)
        rendered = [_render(kind, kind.file, value, clients) for value in values]
        members |= {kind.file.name: rendered} if rendered else {}
    return members


def _render(
    kind: ResourceKind[Any], member: FileMember[Any], value: Any, clients: Mapping[str, Client]
) -> dict[str, Any]:
    if member.render is not None:
        return member.render(value, clients)
    document = kind.render_document(value)
    return {name: document[name] for name in document if name in kind.fields.writable}
