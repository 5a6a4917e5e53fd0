"""All users of a realm, in batches of four statements each."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Table, select

from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.ports.storage.users import WholeUser
from gateway.domain.users import Credential
from gateway.storage.sql.schema import group_members, user_roles, users
from gateway.storage.sql.transaction import Transaction
from gateway.storage.sql.users.repository import credentials_of, read_user


class SqlUserBatches:
    """UserBatches on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def after(
        self, realm_id: str, username: str, size: int, *, accounts_only: bool = False
    ) -> tuple[WholeUser, ...]:
        wanted = select(users).where(users.c.realm_id == realm_id, users.c.username > username)
        if accounts_only:
            wanted = wanted.where(users.c.service_account_client.is_not(None))
        rows = await self._transaction.execute(wanted.order_by(users.c.username).limit(size))
        found = [read_user(row) for row in rows]
        ids = [user.id for user in found]
        credentials: defaultdict[str, list[Credential]] = defaultdict(list)
        for held in await credentials_of(self._transaction, self._secrets, realm_id, ids):
            credentials[held.user_id].append(held)
        roles = await self._links(user_roles, "role_id", realm_id, ids)
        groups = await self._links(group_members, "group_id", realm_id, ids)
        return tuple(
            WholeUser(
                user,
                tuple(credentials[user.id]),
                frozenset(roles[user.id]),
                frozenset(groups[user.id]),
            )
            for user in found
        )

    async def _links(
        self, table: Table, column: str, realm_id: str, user_ids: Sequence[str]
    ) -> defaultdict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        rows = await self._transaction.execute(
            select(table.c.user_id, table.c[column].label("identity")).where(
                table.c.realm_id == realm_id, table.c.user_id.in_(user_ids)
            )
        )
        for row in rows:
            found[row.user_id].append(row.identity)
        return found
