"""All users of a realm, in batches of four statements each."""

from collections import defaultdict
from functools import partial

from sqlalchemy import select

from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.ports.storage.users import WholeUser
from gateway.domain.users import Credential
from gateway.storage.sql.schema import group_members, user_roles, users
from gateway.storage.sql.transaction import Transaction, links_by_owner
from gateway.storage.sql.users.credentials import credentials_of
from gateway.storage.sql.users.repository import read_user


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
        linked = partial(links_by_owner, self._transaction, realm_id, owners=ids)
        roles = await linked(user_roles.c.user_id, user_roles.c.role_id)
        groups = await linked(group_members.c.user_id, group_members.c.group_id)
        return tuple(
            WholeUser(
                user,
                tuple(credentials[user.id]),
                roles.get(user.id, frozenset()),
                groups.get(user.id, frozenset()),
            )
            for user in found
        )
