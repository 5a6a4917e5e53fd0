"""`conditional-user-role`: the user has a role, composites and groups included."""

from typing import ClassVar

from gateway.authentication.engine.sign_in import Config, SignIn, WithoutEffect, is_set
from gateway.domain.flows import USER_ROLE, SignInFlow
from gateway.domain.ports.directory import Directory
from gateway.domain.roles import EffectiveRoles


class UserRole(WithoutEffect):
    """Matches users with the role `condUserRole`: `role`, or `client.role`.

    `negate` inverts the result.
    """

    id: ClassVar = USER_ROLE

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether the user has it."""
        del flow
        name, user = config.get("condUserRole"), sign_in.found_user
        if not name or user is None:
            return False
        entry = await self._directory.user(sign_in.realm.id, user.id)
        return entry is not None and _has(entry.roles, name) != is_set(config, "negate")


def _has(roles: EffectiveRoles, name: str) -> bool:
    if name in roles.realm:
        return True
    return any(name == f"{client}.{role}" for client, names in roles.clients for role in names)
