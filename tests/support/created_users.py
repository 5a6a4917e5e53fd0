"""Users created by an operator, by the use case of the admin API and of `realmgate user create`."""

from collections.abc import Mapping
from typing import Any

from gateway.admin.changes import Changes
from gateway.admin.users.administration import UserAdministration
from gateway.authentication.passwords import NewPasswords, PasswordChanges
from gateway.password_policies import NO_BLACKLISTS, PasswordBlacklists
from tests.support.operators import acting_on
from tests.support.realm_imports import Imports


async def create_user(
    imports: Imports,
    document: Mapping[str, Any],
    realm_name: str = "acme",
    blacklists: PasswordBlacklists = NO_BLACKLISTS,
) -> str:
    """Create a user as an operator; return its id."""
    acting = await acting_on(imports.database, realm_name)
    changes = Changes(imports.database, imports.clock, imports.messages)
    passwords = PasswordChanges(NewPasswords(imports.clock, blacklists), imports.passwords)
    unused: Any = None
    users = UserAdministration(changes, passwords, unused, unused)
    return await users.create_user(acting, document)
