"""Which objects a path of the admin API leads through, derived from its template.

Keycloak: 7 (resolution order)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.admin.path_objects import PathObject, PathObjectKind
from gateway.http.admin.operations import REALM

_KINDS: Final[Mapping[tuple[str, ...], PathObjectKind]] = {
    ("users", "{user_id}"): PathObjectKind.USER,
    ("groups", "{group_id}"): PathObjectKind.GROUP,
    ("clients", "{client_id}"): PathObjectKind.CLIENT,
    ("client-scopes", "{scope_id}"): PathObjectKind.CLIENT_SCOPE,
}
_OWNERS: Final[Mapping[tuple[str, ...], PathObjectKind]] = {
    ("role-mappings", "clients"): PathObjectKind.ROLE_OWNER,
    ("scope-mappings", "clients"): PathObjectKind.CLIENT,
}
"""The part of the path before the client whose roles are mapped."""


@dataclass(frozen=True, slots=True)
class LocatedObjects:
    """The placeholders of a path that name objects, in their order."""

    placeholders: tuple[tuple[PathObjectKind, str], ...] = ()

    @classmethod
    def of(cls, template: str) -> "LocatedObjects":
        """Return what is located for a path such as /admin/realms/{realm}/users/{user_id}."""
        segments = tuple(template.removeprefix(REALM).split("/")[1:])
        found = []
        if segments[:2] in _KINDS:
            found.append((_KINDS[segments[:2]], segments[1]))
        if segments[2:4] in _OWNERS and segments[4:]:
            found.append((_OWNERS[segments[2:4]], segments[4]))
        return cls(tuple((kind, name.strip("{}")) for kind, name in found))

    def objects(self, path: Mapping[str, str]) -> tuple[PathObject, ...]:
        """Return the objects that a request with these values names."""
        return tuple(PathObject(kind, path[name]) for kind, name in self.placeholders)
