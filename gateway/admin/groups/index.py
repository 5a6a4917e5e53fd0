"""The groups of a realm by path: adding those of a file, and finding those that users join.

Missing groups are added; existing ones get the description, attributes and roles of the file and
lose no role. `defaultGroups` is a setting: the whole list. Keycloak: realm import, groups
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from gateway.admin.access import (
    RoleIndex,
    load_roles,
)
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.groups import Group, is_at_or_below, parse_group_path, render_group_path
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.groups import GroupInput, parse_group_paths, parse_groups
from gateway.representations.refusals import attempt, describe, raise_all
from gateway.representations.spelling import Names

_NAMES = Names(("groups", "defaultGroups"))
_ROLE_LISTS = ("realmRoles", "clientRoles")


@dataclass(frozen=True, slots=True)
class GivenGroups:
    """The groups of a file; `default` is None where the file does not set it."""

    groups: tuple[GroupInput, ...] = ()
    default: tuple[str, ...] | None = None
    default_at: str = ""


def read_realm_groups(document: Mapping[str, Any], path: str) -> GivenGroups:
    """Return the groups of a realm file; raises InvalidInput."""
    errors: list[FieldError] = []
    given = _NAMES.collect(document, path, errors)
    at, groups = given.get("groups", ("", None))
    default_at, default = given.get("defaultGroups", ("", None))
    found = GivenGroups(
        groups=attempt(errors, (), parse_groups, groups, at),
        default=None
        if default is None
        else attempt(errors, None, parse_group_paths, default, default_at),
        default_at=default_at,
    )
    raise_all(errors)
    return found


class GroupIndex:
    """The groups of one realm by path, within one transaction."""

    changed = False
    """Whether anything was written."""

    def __init__(self, groups: Sequence[Group] = ()) -> None:
        self._groups = {group.path: group for group in groups}
        self._by_plain_path: defaultdict[str, set[str]] = defaultdict(set)
        for group in groups:
            self._by_plain_path[group.plain_path].add(group.path)

    def ids(self, paths: Sequence[str], at: str) -> tuple[str, ...]:
        """Return the ids of the groups; raises InvalidInput naming those that do not exist."""
        errors = [
            FieldError(f"{at}[{index}]", describe(path), "the path of a group of the realm")
            for index, path in enumerate(paths)
            if self._find_named(path) is None
        ]
        raise_all(errors)
        found = map(self._find_named, paths)
        return tuple(dict.fromkeys(group.id for group in found if group is not None))

    def find(self, path: str) -> Group | None:
        """Return the group at a canonical path."""
        return self._groups.get(path)

    def _find_named(self, path: str) -> Group | None:
        """Return the group at a canonical path, or else the only one with this plain path.

        Keycloak's exports escape no slash.
        """
        found = self._groups.get(path)
        if found is None:
            several = self._by_plain_path.get(path, ())
            known = [self._groups[each] for each in several if each in self._groups]
            found = known[0] if len(known) == 1 else None
        return found

    def discard(self, path: str) -> None:
        """Remove the group at a path and all groups below it from the index."""
        self._groups = {
            known: group for known, group in self._groups.items() if not is_at_or_below(known, path)
        }

    @property
    def default(self) -> tuple[str, ...]:
        """The ids of the groups that new users join."""
        return tuple(group.id for group in self._groups.values() if group.is_default)

    async def take(
        self, stores: Stores, realm: Realm, given: GivenGroups, roles: RoleIndex
    ) -> None:
        """Store the groups of a file; raises InvalidInput naming all that does not exist."""
        errors: list[FieldError] = []
        for group in given.groups:
            await self._take(_Level(stores, realm, roles, errors), group, None)
        raise_all(errors)
        if given.default is not None:
            await self._set_default(stores, self.ids(given.default, given.default_at))

    async def _take(self, level: "_Level", given: GroupInput, parent: Group | None) -> None:
        above = () if parent is None else parse_group_path(parent.path)
        path = render_group_path((*above, given.name))
        before = self._groups.get(path)
        group = before or Group(
            id=given.id or str(uuid4()),
            realm_id=level.realm.id,
            name=given.name,
            path=path,
            parent=None if parent is None else parent.id,
        )
        group = _merged(group, given)
        if before is None:
            await level.stores.groups.add(group)
        elif group != before:
            await level.stores.groups.replace(group)
        self.changed |= group != before
        self._groups[path] = group
        self._by_plain_path[group.plain_path].add(path)
        await self._grant(level, given, group)
        for child in given.children:
            await self._take(level, child, group)

    async def _grant(self, level: "_Level", given: GroupInput, group: Group) -> None:
        try:
            role_ids = level.roles.ids(given.roles, given.at, _ROLE_LISTS)
        except InvalidInput as refusal:
            level.errors.extend(refusal.errors)
            return
        await level.stores.groups.grant(level.realm.id, group.id, role_ids)
        self.changed |= bool(role_ids)

    async def _set_default(self, stores: Stores, group_ids: Sequence[str]) -> None:
        for path, group in self._groups.items():
            is_default = group.id in group_ids
            if group.is_default != is_default:
                self._groups[path] = replace(group, is_default=is_default)
                await stores.groups.replace(self._groups[path])
                self.changed = True


@dataclass(frozen=True, slots=True)
class RealmIndexes:
    """The roles and groups of a realm by name."""

    roles: RoleIndex
    groups: GroupIndex


@dataclass(frozen=True, slots=True)
class _Level:
    """What every group of a file is stored with."""

    stores: Stores
    realm: Realm
    roles: RoleIndex
    errors: list[FieldError]


def _merged(group: Group, given: GroupInput) -> Group:
    return replace(
        group,
        description=group.description if given.description is None else given.description,
        attributes=group.attributes if given.attributes is None else given.attributes,
    )


async def load_groups(stores: Stores, realm: Realm) -> GroupIndex:
    """Return the groups of the realm."""
    return GroupIndex(await stores.groups.list(realm.id))


async def load_indexes(stores: Stores, realm: Realm) -> RealmIndexes:
    """Return the roles and the groups of the realm."""
    return RealmIndexes(await load_roles(stores, realm), await load_groups(stores, realm))
