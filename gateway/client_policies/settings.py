"""What an executor sets at a client that is created or changed ("auto-configure")."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Members of the client's representation, and attributes, that replace those it has."""

    members: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.members or self.attributes)


NOTHING = ClientSettings()
