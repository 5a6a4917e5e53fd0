"""`conditional-user-role`: the user has a role, composites and groups included."""

from typing import ClassVar

from gateway.authentication.direct_grant.sign_in import Config, SignIn, is_set
from gateway.domain.flows import USER_ROLE, SignInFlow
from gateway.domain.ports.directory import Directory
from gateway.domain.roles import EffectiveRoles


class UserRole:
    """Matches users with the role `condUserRole`: `role`, or `client.role`.

    `negate` inverts the result.
    """

    id: ClassVar = USER_ROLE

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether the user has it."""
        del flow
        name = config.get("condUserRole")
        if not name:
            return False
        entry = await self._directory.user(sign_in.realm.id, sign_in.user.id)
        return entry is not None and _has(entry.roles, name) != is_set(config, "negate")


def _has(roles: EffectiveRoles, name: str) -> bool:
    if name in roles.realm:
        return True
    return any(name == f"{client}.{role}" for client, names in roles.clients for role in names)
