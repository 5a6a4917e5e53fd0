"""The objects of a realm that carry administrative rights: users, clients, groups and roles."""

from dataclasses import dataclass
from enum import StrEnum


class ObjectKind(StrEnum):
    """A kind of object that carries rights."""

    USER = "user"
    CLIENT = "client"
    """Carries the rights of its service account."""
    GROUP = "group"
    """Carries the rights that it gives to its members."""
    ROLE = "role"


@dataclass(frozen=True, slots=True)
class ControlledObject:
    """An object that a request controls, by its internal id.

    A role may be addressed by its name: `client` is then the internal id of the client that owns
    it, or None for a role of the realm.
    """

    kind: ObjectKind
    id: str
    by_name: bool = False
    client: str | None = None
