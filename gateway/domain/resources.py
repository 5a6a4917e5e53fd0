"""Small resources as the stores have them: one table of a realm, one row for each value.

`gateway/admin/resources.py` declares the rest of a kind of resource: fields, roles, events, texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class StoredKind(Generic[ValueT]):
    """How values are stored: `table` has a column for each attribute, or as in `columns`."""

    value: type[ValueT]
    table: str
    order: tuple[str, ...] = ("id",)
    """Columns by which lists are sorted."""
    search: tuple[str, ...] = ()
    """Columns of text in which a list is searched."""
    columns: Mapping[str, str] = field(default_factory=dict)
    conflict_message: str = "It already exists"
    """With `{name}` for the value of that column."""


class ResourceRepository(Protocol[ValueT]):
    """The values of one kind. All methods raise `StoreUnavailable("sql")`."""

    async def list_values(
        self,
        realm_id: str,
        first: int = 0,
        maximum: int | None = None,
        *,
        search: str = "",
        where: Mapping[str, str | None] = MappingProxyType({}),
    ) -> Sequence[ValueT]:
        """Return values in order that contain `search`, in any case, and equal `where`."""

    async def count_values(self, realm_id: str) -> int:
        """Return the number of values of a realm."""

    async def find_value(self, realm_id: str, identity: str) -> ValueT | None:
        """Return the value with that id."""

    async def add(self, realm_id: str, value: ValueT) -> None:
        """Store a new value; raises AlreadyExists."""

    async def put_value(self, realm_id: str, value: ValueT) -> None:
        """Store the value under its id, replacing the one there; raises AlreadyExists."""

    async def remove_value(self, realm_id: str, identity: str) -> bool:
        """Remove the value; return whether it existed."""
