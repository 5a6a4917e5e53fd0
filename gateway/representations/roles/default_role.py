"""`defaultRole` of a realm: the role of every new user, by its name. Keycloak: RoleRepresentation.

What else is told of the role is the role's own: it is passed over, and stands with the roles.
"""

from collections.abc import Mapping
from typing import Any

from gateway.representations.names import PrintableName
from gateway.representations.refusals import join, refused


class DefaultRole:
    """The name of the role, as an object."""

    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, Mapping):
            raise refused(path, value, "a role")
        return PrintableName().read(value.get("name"), join(path, "name"))

    def write(self, value: str) -> dict[str, Any]:
        return {"name": value}
