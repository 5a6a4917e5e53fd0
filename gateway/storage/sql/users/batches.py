"""All users of a realm, a batch at a time: four statements for each, however many there are."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Table, select

from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.ports.storage.user_batches import WholeUser
from gateway.domain.users import Credential
from gateway.storage.sql.schema import credentials, group_members, user_roles, users
from gateway.storage.sql.transaction import Transaction
from gateway.storage.sql.users.repository import read_credential, read_user


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
        held = await self._credentials(realm_id, ids)
        roles = await self._links(user_roles, "role_id", realm_id, ids)
        groups = await self._links(group_members, "group_id", realm_id, ids)
        return tuple(
            WholeUser(
                user, tuple(held[user.id]), frozenset(roles[user.id]), frozenset(groups[user.id])
            )
            for user in found
        )

    async def _credentials(
        self, realm_id: str, user_ids: Sequence[str]
    ) -> defaultdict[str, list[Credential]]:
        found: defaultdict[str, list[Credential]] = defaultdict(list)
        rows = await self._transaction.execute(
            select(credentials)
            .where(credentials.c.realm_id == realm_id, credentials.c.user_id.in_(user_ids))
            .order_by(credentials.c.priority, credentials.c.created_at, credentials.c.id)
        )
        for row in rows:
            found[row.user_id].append(read_credential(row, self._secrets))
        return found

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
