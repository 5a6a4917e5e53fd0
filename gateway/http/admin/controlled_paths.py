"""Which objects a request of the admin API controls, derived from the path of its operation.

Every operation that is not a GET controls each user, client, group and role that its path names,
unless its row declares why it is harmless; a GET does so where its row declares that the response
gives control. A placeholder that is not listed here is an error when the routes are
built, so a new path cannot bypass the rule of `gateway.admin.access.privileged_objects`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.admin.access import (
    ControlledObject,
    ObjectKind,
)
from gateway.http.admin.operations import Operation

OBJECTS: Final[Mapping[str, ObjectKind]] = {
    "user_id": ObjectKind.USER,
    "member_id": ObjectKind.USER,
    "client_id": ObjectKind.CLIENT,
    "group_id": ObjectKind.GROUP,
    "role_id": ObjectKind.ROLE,
    "role_name": ObjectKind.ROLE,
}
"""Placeholders that name an object with rights."""
OTHERS: Final = frozenset(
    {
        *("access_id", "alias", "attr", "client", "config", "container", "credential_id", "id"),
        *("invitation_id", "key", "locale", "mapper_id", "node", "org_id", "policy_id"),
        *("previous_id", "provider", "realm", "resource_id", "scope_id", "scope_name"),
        *("session_id", "sha256", "site", "type", "workflow_id"),
    }
)
"""Placeholders of objects without rights, or of a part of an object before it in the path.

`session_id` is among them: ending a session gives no control of an account.
"""
_ROLE_LISTS: Final = frozenset({"role-mappings", "scope-mappings"})
"""What follows one of these names the client whose roles are meant: the client is not changed."""
_CLIENT: Final = "client_id"
_ROLE_NAME: Final = "role_name"


@dataclass(frozen=True, slots=True)
class ControlledPath:
    """The placeholders of a path that name controlled objects."""

    placeholders: tuple[str, ...]

    def objects(self, path: Mapping[str, str]) -> tuple[ControlledObject, ...]:
        """Return the objects that a request with these values controls."""
        return tuple(
            ControlledObject(
                OBJECTS[name],
                path[name],
                by_name=name == _ROLE_NAME,
                client=path.get(_CLIENT) if name == _ROLE_NAME else None,
            )
            for name in self.placeholders
        )


def controlled_path(operation: Operation) -> ControlledPath:
    """Return what an operation controls; raises ValueError for a placeholder that is not listed."""
    controls = operation.reveals if operation.method == "GET" else not operation.harmless
    if not controls:
        return ControlledPath(())
    names = tuple(_placeholders(operation.path.split("/")))
    unknown = set(names) - OBJECTS.keys() - OTHERS
    if unknown:
        text = f"{operation.method} {operation.path}: list {', '.join(sorted(unknown))}"
        raise ValueError(f"{text} in controlled_paths.OBJECTS or OTHERS")
    return ControlledPath(tuple(name for name in names if name in OBJECTS))


def _placeholders(segments: Sequence[str]) -> Iterator[str]:
    for segment in segments:
        if segment in _ROLE_LISTS:
            return
        if segment.startswith("{"):
            yield segment.strip("{}").partition(":")[0]
