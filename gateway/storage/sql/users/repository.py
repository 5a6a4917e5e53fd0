"""Users and their credentials; what a credential hides is sealed.

Attributes, required actions and `not_before` stand in the document under Keycloak's names, where
the version before this one looks for them; attributes are indexed beside it.
Keycloak: UserRepresentation, CredentialRepresentation.
"""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Table, delete, func, insert, select, update

from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.users import Credential, User, UserQuery
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.inserts import insert_into
from gateway.storage.sql.schema import credentials, user_attributes, users
from gateway.storage.sql.transaction import Transaction
from gateway.storage.sql.users.attribute_index import index_terms
from gateway.storage.sql.users.pages import UserPages

_TAKEN = "User exists with same username"
_ID_TAKEN = "A credential with the same id exists"
_OWNER = frozenset({"realm_id", "id", "user_id"})
_FIELDS = (
    "id",
    "realm_id",
    "username",
    "enabled",
    "created_at",
    "email",
    "email_verified",
    "first_name",
    "last_name",
    "service_account_client",
)


class SqlUsers:
    """UserRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def find_by_username(self, realm_id: str, username: str) -> User | None:
        if not is_name(username):
            return None
        return await self._find(realm_id, users.c.username == username)

    async def find_by_id(self, realm_id: str, user_id: str) -> User | None:
        if not is_name(user_id):
            return None
        return await self._find(realm_id, users.c.id == user_id)

    async def find_alone(self, realm_id: str, user_id: str) -> User | None:
        if not is_name(user_id):
            return None
        # SQLite has no such lock and needs none: a transaction that may write is alone.
        one = _first(realm_id, users.c.id == user_id).with_for_update(key_share=True)
        return await self._read(one)

    async def find_by_email(self, realm_id: str, email: str) -> User | None:
        """Return the first user with that (lower-cased) e-mail address, by username."""
        if not is_name(email):
            return None
        return await self._find(realm_id, users.c.email == email)

    async def search(
        self, realm_id: str, query: UserQuery, first: int, maximum: int
    ) -> tuple[User, ...]:
        rows = await UserPages(self._transaction, realm_id, query).page(first, maximum)
        return tuple([read_user(row) async for row in in_slices(rows)])

    async def count(self, realm_id: str, query: UserQuery) -> int:
        return await UserPages(self._transaction, realm_id, query).count()

    async def known(self, realm_id: str, usernames: Sequence[str]) -> frozenset[str]:
        names = [name for name in usernames if is_name(name)]
        rows = await self._transaction.execute(
            select(users.c.username).where(
                users.c.realm_id == realm_id, users.c.username.in_(names)
            )
        )
        return frozenset(row.username for row in rows)

    async def find_service_account(self, realm_id: str, client: str) -> User | None:
        return await self._find(realm_id, users.c.service_account_client == client)

    async def _find(self, realm_id: str, condition: ColumnElement[bool]) -> User | None:
        return await self._read(_first(realm_id, condition))

    async def _read(self, one: Select[Any]) -> User | None:
        row = (await self._transaction.execute(one)).first()
        return None if row is None else read_user(row)

    async def list(self, realm_id: str) -> tuple[User, ...]:
        rows = await self._transaction.execute(
            select(users).where(users.c.realm_id == realm_id).order_by(users.c.username)
        )
        return tuple([read_user(row) async for row in in_slices(rows)])

    async def add(self, user: User) -> None:
        await self.add_all([user], ())

    async def add_all(self, added: Sequence[User], held: Sequence[Credential]) -> None:
        rows: tuple[tuple[Table, list[dict[str, Any]], str], ...] = (
            (users, [_values(user) for user in added], _TAKEN),
            (user_attributes, [term for user in added for term in _terms(user)], ""),
            (credentials, [self._row(added[0].realm_id, item) for item in held], _ID_TAKEN),
        )
        for table, values, taken in rows:
            if values:
                await self._transaction.execute(insert(table), values, taken=taken)

    async def replace(self, user: User) -> None:
        await self._transaction.change(
            update(users)
            .where(users.c.realm_id == user.realm_id, users.c.id == user.id)
            .values(_values(user)),
            taken=_TAKEN,
        )
        of_user = (
            user_attributes.c.realm_id == user.realm_id,
            user_attributes.c.user_id == user.id,
        )
        await self._transaction.execute(delete(user_attributes).where(*of_user))
        terms = _terms(user)
        if terms:
            await self._transaction.execute(insert(user_attributes), terms)

    async def remove(self, realm_id: str, user_id: str) -> bool:
        result = await self._transaction.execute(
            delete(users).where(users.c.realm_id == realm_id, users.c.id == user_id)
        )
        return result.rowcount > 0

    async def hold_names(self, realm_id: str, names: Collection[str]) -> None:
        """Let nobody else hold any of the names until the transaction ends."""
        if self._transaction.dialect == "sqlite":
            return  # a transaction that may write is alone
        # In one order everywhere, or two who want the same names would wait for each other.
        for name in sorted(set(names)):
            key = func.hashtextextended(f"{realm_id}/{name}", 0)
            await self._transaction.execute(select(func.pg_advisory_xact_lock(key)))

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        rows = await self._transaction.execute(
            select(credentials)
            .where(credentials.c.realm_id == realm_id, credentials.c.user_id == user_id)
            .order_by(credentials.c.priority, credentials.c.created_at, credentials.c.id)
        )
        return tuple(self._credential(row) for row in rows)

    async def having_credential(
        self, realm_id: str, user_ids: Sequence[str], type_: str
    ) -> frozenset[str]:
        rows = await self._transaction.execute(
            select(credentials.c.user_id).where(
                credentials.c.realm_id == realm_id,
                credentials.c.user_id.in_(user_ids),
                credentials.c.type == type_,
            )
        )
        return frozenset(row.user_id for row in rows)

    async def set_credential(self, realm_id: str, credential: Credential) -> None:
        row = self._row(realm_id, credential)
        values = {name: value for name, value in row.items() if name not in _OWNER}
        statement = insert_into(credentials, self._transaction.dialect).values(row)
        await self._transaction.change(
            statement.on_conflict_do_update(
                index_elements=["realm_id", "id"],
                set_=values,
                # An id that is another user's is not a way to that user's password.
                where=credentials.c.user_id == credential.user_id,
            )
        )

    async def remove_credential(self, realm_id: str, credential: Credential) -> None:
        await self._transaction.execute(
            delete(credentials).where(
                credentials.c.realm_id == realm_id,
                credentials.c.id == credential.id,
                credentials.c.user_id == credential.user_id,
            )
        )

    async def exchange_credential(
        self, realm_id: str, before: Credential, after: Credential
    ) -> bool:
        # Locked first, compared then: who changes it meanwhile is waited for, and believed.
        rows = await self._transaction.execute(
            select(credentials)
            .where(credentials.c.realm_id == realm_id, credentials.c.id == before.id)
            .with_for_update()
        )
        row = rows.first()
        if row is None or self._credential(row) != before:
            return False
        await self.set_credential(realm_id, after)
        return True

    def _row(self, realm_id: str, credential: Credential) -> dict[str, Any]:
        return {
            "realm_id": realm_id,
            "id": credential.id,
            "user_id": credential.user_id,
            "type": credential.type,
            "created_at": credential.created_at,
            "credential_data": credential.credential_data,
            "secret_data": self._secrets.seal(
                credential.secret_data, credential_context(realm_id, credential.id)
            ),
            "priority": credential.priority,
            "user_label": credential.label,
        }

    def _credential(self, row: Row[Any]) -> Credential:
        return read_credential(row, self._secrets)


def _first(realm_id: str, condition: ColumnElement[bool]) -> Select[Any]:
    return (
        select(users)
        .where(users.c.realm_id == realm_id, condition)
        # An expression: SQLite would walk along the names to find an address.
        .order_by(users.c.username.concat(""))
        .limit(1)
    )


def read_credential(row: Any, secrets: SecretsAtRest) -> Credential:
    """Return the credential of a row of all columns, opened."""
    return Credential(
        id=row.id,
        user_id=row.user_id,
        type=row.type,
        created_at=row.created_at,
        credential_data=row.credential_data,
        secret_data=secrets.unseal(row.secret_data, credential_context(row.realm_id, row.id)),
        priority=row.priority,
        label=row.user_label,
    )


def credential_context(realm_id: str, credential_id: str) -> str:
    """Return what a credential's secret is sealed for."""
    return f"credential:{realm_id}:{credential_id}"


def _terms(user: User) -> list[dict[str, str]]:
    key = {"realm_id": user.realm_id, "user_id": user.id}
    return [key | {"name": name, "value": text} for name, text in index_terms(user.attributes)]


def _values(user: User) -> dict[str, Any]:
    return {field: getattr(user, field) for field in _FIELDS} | {
        "document": _document(user),
        "first_name_lower": user.first_name and user.first_name.lower(),
        "last_name_lower": user.last_name and user.last_name.lower(),
    }


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
    return User(
        **{field: getattr(row, field) for field in _FIELDS},
        attributes={name: tuple(texts) for name, texts in attributes.items()},
        required_actions=tuple(document.pop("requiredActions", ())),
        not_before=document.pop("notBefore", 0),
        document=document,
    )
