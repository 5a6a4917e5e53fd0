"""Users and their credentials in SQL.

Users and their credentials, whose secrets are sealed.

Attributes, required actions and `not_before` are in the document under Keycloak's names, where
the previous version of the gateway reads them; a table indexes attributes.
Keycloak: UserRepresentation, CredentialRepresentation.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal,
    literal_column,
    null,
    select,
    tuple_,
    union_all,
    update,
)

from gateway.domain.clock import Clock
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.limits.password_hashing import HashCost
from gateway.domain.ports.users import WholeUser
from gateway.domain.secrets import SecretsAtRest
from gateway.domain.unique_names import name_key
from gateway.domain.users import Credential, User, UserQuery
from gateway.storage.sql.column_types import Name, NameList, is_name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.schema import (
    credentials,
    group_members,
    groups,
    user_attributes,
    user_roles,
    users,
)
from gateway.storage.sql.transaction import (
    SealedRepository,
    Transaction,
    has_given,
    insert_into,
    is_row,
    links_by_owner,
    lock_texts,
    portions,
    values_of,
)
from gateway.storage.sql.user_credentials import (
    KEY_TAKEN,
    credential_row,
    credentials_of,
    list_costs,
    note_costs,
    read_credential,
    recount_costs,
    require_own_keys,
)
from gateway.storage.sql.user_search import UserPages, index_terms

_TAKEN = "User exists with same username"
_ID_TAKEN = "A credential with the same id exists"
_OWNER = frozenset({"realm_id", "id", "user_id"})
_KEPT = _OWNER | {"key_id", "set_at"}
"""What a use of a credential does not change."""
_FIELDS = (
    *("id", "realm_id", "username", "enabled", "created_at", "email", "email_verified"),
    *("first_name", "last_name", "service_account_client"),
)
"""The first ones of `User`, in its order: by position they take half as long."""
_fields_of: Final = attrgetter(*_FIELDS)


def _found_by(column: Column[Any]) -> FixedQuery:
    realm_id, value = (bindparam(name, type_=Name) for name in ("realm_id", "value"))
    # An expression: SQLite would walk along the names to find an address.
    by_name = users.c.username.op("||")(literal_column("''"))
    found = select(users).where(users.c.realm_id == realm_id, column == value)
    one = found.order_by(by_name).limit(literal_column("1")).offset(literal_column("0"))
    return FixedQuery(one)


_HELD: Final = ("name", "other_name", "address", "other_address")


def _holding() -> FixedQuery:
    realm_id, *texts = (bindparam(name, type_=Name) for name in ("realm_id", *_HELD))
    keys = users.c
    columns = (keys.username_key, keys.username_key, keys.email_key, keys.email_key)
    # A search by index for each: with OR, SQLite would walk through the realm.
    found = union_all(
        *(
            select(users.c.id).where(users.c.realm_id == realm_id, column == text)
            for column, text in zip(columns, texts, strict=True)
        )
    )
    holding = select(users).where(users.c.realm_id == realm_id, users.c.id.in_(found))
    return FixedQuery(holding.limit(literal_column("100")).offset(literal_column("0")))


_HOLDING: Final = _holding()


def _held(names: tuple[str, str], addresses: tuple[str, str]) -> dict[str, str]:
    texts = dict(zip(_HELD, (*names, *addresses), strict=True))
    return {name: text if is_name(text) else "" for name, text in texts.items()}


_OF_TYPE: Final = select(credentials.c.user_id).where(*has_given(credentials, "realm_id", "type"))
_IDS: Final = func.json_each(bindparam("user_ids", type_=NameList)).table_valued("value")
_HAVING: Final = FixedQuery(_OF_TYPE.where(credentials.c.user_id.in_(select(_IDS.c.value))))
"""On SQLite, whose list of ids is a table."""
_BY: Final = {
    column.key: _found_by(column)
    for column in (
        *(users.c.username, users.c.email, users.c.email_key),
        users.c.service_account_client,
    )
}


class SqlUsers:
    """UserRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest, clock: Clock) -> None:
        self._transaction = transaction
        self._secrets = secrets
        self._clock = clock

    async def find_by_username(self, realm_id: str, username: str) -> User | None:
        return await self._find_user(realm_id, users.c.username, username)

    async def find_by_id(self, realm_id: str, user_id: str) -> User | None:
        return await self._transaction.get_row(users, realm_id, user_id, read_user)

    async def get_for_update(self, realm_id: str, user_id: str) -> User | None:
        return await self._transaction.get_row(
            users, realm_id, user_id, read_user, for_update=True, key_share=True
        )

    async def holding(
        self, realm_id: str, names: tuple[str, str], addresses: tuple[str, str]
    ) -> tuple[User, ...]:
        given = _held(names, addresses)
        rows = await self._transaction.fetch(_HOLDING, realm_id=realm_id, **given)
        return tuple(map(read_user, rows))

    def expect_holding(
        self, realm_id: str, names: tuple[str, str], addresses: tuple[str, str]
    ) -> None:
        self._transaction.read_ahead(_HOLDING, realm_id=realm_id, **_held(names, addresses))

    async def with_keys(self, realm_id: str, keys: Collection[str]) -> tuple[User, ...]:
        found: dict[str, User] = {}
        for column in (users.c.username_key, users.c.email_key):
            for portion in portions(sorted(filter(is_name, keys))):
                having = select(users).where(users.c.realm_id == realm_id, column.in_(portion))
                found |= {
                    one.id: one for one in await self._transaction.read_rows(having, read_user)
                }
        return tuple(found.values())

    async def without_key(self, maximum: int, after: User | None = None) -> tuple[User, ...]:
        without = select(users).where(users.c.username_key.is_(None))
        if after is not None:
            place = tuple_(users.c.realm_id, users.c.id)
            without = without.where(place > tuple_(after.realm_id, after.id))
        ordered = without.order_by(users.c.realm_id, users.c.id).limit(maximum)
        return await self._transaction.read_rows(ordered, read_user)

    async def with_repeated_addresses(self, realm_id: str, maximum: int) -> tuple[User, ...]:
        of_realm = (users.c.realm_id == realm_id, users.c.email_key.is_not(None))
        keys = select(users.c.email_key).where(*of_realm).group_by(users.c.email_key)
        repeated = keys.having(func.count() > literal_column("1"))
        having = select(users).where(*of_realm, users.c.email_key.in_(repeated))
        ordered = having.order_by(users.c.email_key, users.c.id).limit(maximum)
        return await self._transaction.read_rows(ordered, read_user)

    async def find_by_email(self, realm_id: str, email: str) -> User | None:
        return await self._find_user(realm_id, users.c.email, email)

    async def find_by_email_key(self, realm_id: str, key: str) -> User | None:
        return await self._find_user(realm_id, users.c.email_key, key)

    async def search_users(
        self, realm_id: str, query: UserQuery, first: int, maximum: int
    ) -> tuple[User, ...]:
        rows = await UserPages(self._transaction, realm_id, query).page(first, maximum)
        return tuple([read_user(row) async for row in in_slices(rows)])

    async def count_users(self, realm_id: str, query: UserQuery) -> int:
        return await UserPages(self._transaction, realm_id, query).count()

    async def known(self, realm_id: str, usernames: Sequence[str]) -> frozenset[str]:
        names = [name for name in usernames if is_name(name)]
        of_realm = select(users.c.username).where(users.c.realm_id == realm_id)
        rows = await self._transaction.execute(of_realm.where(users.c.username.in_(names)))
        return frozenset(row.username for row in rows)

    async def named(self, realm_id: str, usernames: Sequence[str]) -> tuple[User, ...]:
        names = [name for name in usernames if is_name(name)]
        of_realm = select(users).where(users.c.realm_id == realm_id)
        return await self._transaction.read_rows(
            of_realm.where(users.c.username.in_(names)), read_user
        )

    async def find_service_account(self, realm_id: str, client: str) -> User | None:
        return await self._find_user(realm_id, users.c.service_account_client, client)

    async def _find_user(self, realm_id: str, column: Column[Any], value: str) -> User | None:
        if not is_name(value):
            return None
        rows = await self._transaction.fetch(_BY[column.key], realm_id=realm_id, value=value)
        return read_user(rows[0]) if rows else None

    async def list_users(self, realm_id: str) -> tuple[User, ...]:
        of_realm = select(users).where(users.c.realm_id == realm_id)
        return await self._transaction.read_rows(of_realm.order_by(users.c.username), read_user)

    async def add(self, user: User) -> None:
        row = _values(user) | {"added_at": self._clock.now()}
        await self._transaction.insert(users, [row], taken=_TAKEN)
        await self._transaction.insert_later(user_attributes, _terms(user))

    async def add_all(self, added: Sequence[User], held: Sequence[Credential]) -> None:
        realm_id = added[0].realm_id
        await require_own_keys(self._transaction, realm_id, held)
        now = self._clock.now()
        held_rows = [credential_row(realm_id, item, self._secrets, now) for item in held]
        rows: tuple[tuple[Table, list[dict[str, Any]], str], ...] = (
            (users, [_values(user) | {"added_at": now} for user in added], _TAKEN),
            (user_attributes, [term for user in added for term in _terms(user)], ""),
            (credentials, held_rows, _ID_TAKEN),
        )
        for table, values, taken in rows:
            await self._transaction.insert_later(table, values, taken=taken)
        if added:
            await note_costs(self._transaction, added[0].realm_id, held)

    async def replace(self, user: User) -> None:
        one = update(users).where(is_row(users, user.realm_id, user.id))
        values = _values(user) | {"username_key": _username_key(user)}
        await self._transaction.change(one.values(values), taken=_TAKEN)
        await self._transaction.delete_rows(
            user_attributes, realm_id=user.realm_id, user_id=user.id
        )
        await self._transaction.insert_later(user_attributes, _terms(user))

    async def remove_user(self, realm_id: str, user_id: str) -> bool:
        return await self._transaction.remove_row(users, realm_id, user_id)

    async def lock_names(self, realm_id: str, names: Collection[str]) -> None:
        await lock_texts(self._transaction, [f"{realm_id}/{name}" for name in names])

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        return await credentials_of(self._transaction, self._secrets, realm_id, [user_id])

    async def having_credential(
        self, realm_id: str, user_ids: Sequence[str], type_: str
    ) -> frozenset[str]:
        if self._transaction.dialect == "sqlite":
            rows = await self._transaction.fetch(
                _HAVING, realm_id=realm_id, user_ids=user_ids, type=type_
            )
        else:
            found = _OF_TYPE.where(credentials.c.user_id.in_(user_ids))
            given = {"realm_id": realm_id, "type": type_}
            rows = (await self._transaction.execute(found, given)).all()
        return frozenset(row.user_id for row in rows)

    async def set_credential(self, realm_id: str, credential: Credential) -> None:
        await require_own_keys(self._transaction, realm_id, [credential])
        row = credential_row(realm_id, credential, self._secrets, self._clock.now())
        values = {name: value for name, value in row.items() if name not in _OWNER}
        statement = insert_into(credentials, self._transaction.dialect).values(row)
        await self._transaction.change(
            statement.on_conflict_do_update(
                index_elements=["realm_id", "id"],
                set_=values,
                # The id of another user's credential must not overwrite that user's password.
                where=credentials.c.user_id == credential.user_id,
            ),
            taken=KEY_TAKEN,
        )
        await note_costs(self._transaction, realm_id, [credential])

    async def update_label_and_priority(self, realm_id: str, credential: Credential) -> None:
        of_user = credentials.c.user_id == credential.user_id
        one = update(credentials).where(is_row(credentials, realm_id, credential.id), of_user)
        await self._transaction.execute(
            one.values(user_label=credential.label, priority=credential.priority)
        )

    async def remove_credential(self, realm_id: str, credential: Credential) -> None:
        key = {"realm_id": realm_id, "id": credential.id, "user_id": credential.user_id}
        await self._transaction.delete_rows(credentials, **key)

    async def exchange_credential(
        self, realm_id: str, before: Credential, after: Credential
    ) -> bool:
        # Lock, then compare: a change by another transaction is waited for, and wins.
        found = await self._transaction.get_row(
            credentials,
            realm_id,
            before.id,
            lambda row: read_credential(row, self._secrets),
            for_update=True,
        )
        if found != before:
            return False
        row = credential_row(realm_id, after, self._secrets, self._clock.now())
        values = {name: value for name, value in row.items() if name not in _KEPT}
        one = update(credentials).where(is_row(credentials, realm_id, after.id))
        await self._transaction.change(one.values(values))
        await note_costs(self._transaction, realm_id, [after])
        return True

    async def password_costs(self, realm_id: str) -> tuple[HashCost, ...]:
        return await list_costs(self._transaction, realm_id)

    async def recount_password_costs(self, realm_id: str) -> None:
        await recount_costs(self._transaction, realm_id)


async def linked_users(
    transaction: Transaction, realm_id: str, holder: tuple[Column[Any], str], *page: int
) -> tuple[User, ...]:
    """Return a page (first, length), by username, of users linked by `holder` (column, value)."""
    (column, identity), (first, maximum) = holder, page
    links = column.table
    of_user = and_(
        links.c.realm_id == users.c.realm_id, links.c.user_id == users.c.id, column == identity
    )
    linked = select(users).join(links, of_user).where(users.c.realm_id == realm_id)
    ordered = linked.order_by(users.c.username).offset(first).limit(maximum)
    return await transaction.read_rows(ordered, read_user)


def _terms(user: User) -> list[dict[str, str]]:
    key = {"realm_id": user.realm_id, "user_id": user.id}
    return [key | {"name": name, "value": text} for name, text in index_terms(user.attributes)]


def _values(user: User) -> dict[str, Any]:
    return values_of(user, _FIELDS) | {
        "document": _document(user),
        "first_name_lower": user.first_name and user.first_name.lower(),
        "last_name_lower": user.last_name and user.last_name.lower(),
        "username_key": name_key(user.username),
        "email_key": user.email and name_key(user.email),
    }


def _username_key(user: User) -> ColumnElement[Any]:
    """Return the key of the name for an update.

    A user whose name another user's resembled before keys were stored has no key, and keeps the
    name. A new name requires its key.
    """
    key, other = literal(name_key(user.username), Name), users.alias("other")
    is_taken = exists().where(
        other.c.realm_id == user.realm_id, other.c.username_key == key, other.c.id != user.id
    )
    has_none = and_(users.c.username == user.username, users.c.username_key.is_(None))
    return case((and_(has_none, is_taken), null()), else_=key)


def _document(user: User) -> dict[str, Any]:
    typed = {
        "attributes": {name: list(texts) for name, texts in user.attributes.items()},
        "requiredActions": list(user.required_actions),
        "notBefore": user.not_before,
    }
    return {name: value for name, value in typed.items() if value} | dict(user.document)


def read_user(row: Any) -> User:
    """Return the user of a row of all columns."""
    document = row.document
    attributes = document.pop("attributes", {})
    return User(  # type: ignore[call-arg] # the first ten fields come from the row
        *_fields_of(row),
        {name: tuple(texts) for name, texts in attributes.items()},
        tuple(document.pop("requiredActions", ())),
        document.pop("notBefore", 0),
        document,
        row.added_at,
    )


Given = str | ColumnElement[str]
"""A value, or the expression of a statement that yields it."""


def groups_of(realm_id: Given, user_id: Given, name: str = "lineage") -> CTE:
    """Select the groups of a user and their parents; a statement uses each `name` once."""
    joined = select(group_members.c.group_id).where(
        group_members.c.realm_id == realm_id, group_members.c.user_id == user_id
    )
    return with_parents(realm_id, joined, name)


def groups_above(realm_id: Given, group_id: Given) -> CTE:
    """Select a group and its parents, all the way up."""
    itself = select(groups.c.id.label("group_id")).where(
        groups.c.realm_id == realm_id, groups.c.id == group_id
    )
    return with_parents(realm_id, itself)


def with_parents(realm_id: Given, begun: Select[Any], name: str = "lineage") -> CTE:
    """Select groups and their parents as `group_id`, after `owner` where `begun` has it."""
    lineage = begun.cte(name, recursive=True)
    owner = [lineage.c.owner] if "owner" in lineage.c else []
    is_child = and_(groups.c.id == lineage.c.group_id, groups.c.realm_id == realm_id)
    parents = select(*owner, groups.c.parent).join_from(lineage, groups, is_child)
    return lineage.union(parents.where(groups.c.parent.is_not(None)))


class SqlUserBatches(SealedRepository):
    """UserBatches on SQL."""

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
