"""Users and their credentials; what a credential hides is sealed.

Keycloak: UserRepresentation, CredentialRepresentation.
"""

from typing import Any

from sqlalchemy import ColumnElement, Row, insert, select, update

from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.users import Credential, User
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.inserts import insert_into
from gateway.storage.sql.schema import credentials, users
from gateway.storage.sql.transaction import Transaction

_TAKEN = "User exists with same username"
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
    "document",
)


class SqlUsers:
    """UserRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def find_by_username(self, realm_id: str, username: str) -> User | None:
        """Return the user with that (lower-cased) username."""
        if not is_name(username):
            return None
        return await self._find(realm_id, users.c.username == username)

    async def find_service_account(self, realm_id: str, client: str) -> User | None:
        """Return the service-account user of the client with internal id `client`."""
        return await self._find(realm_id, users.c.service_account_client == client)

    async def _find(self, realm_id: str, condition: ColumnElement[bool]) -> User | None:
        rows = await self._transaction.execute(
            select(users).where(users.c.realm_id == realm_id, condition)
        )
        row = rows.first()
        return None if row is None else _user(row)

    async def list(self, realm_id: str) -> tuple[User, ...]:
        """Return the realm's users, by username."""
        rows = await self._transaction.execute(
            select(users).where(users.c.realm_id == realm_id).order_by(users.c.username)
        )
        return tuple(_user(row) for row in rows)

    async def add(self, user: User) -> None:
        """Store a new user; raises AlreadyExists."""
        await self._transaction.execute(insert(users), _values(user), taken=_TAKEN)

    async def replace(self, user: User) -> None:
        """Overwrite the user with the same id in the same realm."""
        await self._transaction.change(
            update(users)
            .where(users.c.realm_id == user.realm_id, users.c.id == user.id)
            .values(_values(user)),
            taken=_TAKEN,
        )

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        """Return the user's credentials by priority."""
        rows = await self._transaction.execute(
            select(credentials)
            .where(credentials.c.realm_id == realm_id, credentials.c.user_id == user_id)
            .order_by(credentials.c.priority, credentials.c.created_at, credentials.c.id)
        )
        return tuple(self._credential(row) for row in rows)

    async def set_credential(self, realm_id: str, credential: Credential) -> None:
        """Add the credential, or overwrite the one with the same id."""
        values = {
            "type": credential.type,
            "created_at": credential.created_at,
            "credential_data": credential.credential_data,
            "secret_data": self._secrets.seal(
                credential.secret_data, _context(realm_id, credential.id)
            ),
            "priority": credential.priority,
        }
        owner = {"realm_id": realm_id, "id": credential.id, "user_id": credential.user_id}
        statement = insert_into(credentials, self._transaction.dialect).values(owner | values)
        await self._transaction.change(
            statement.on_conflict_do_update(
                index_elements=["realm_id", "id"],
                set_=values,
                # An id that is another user's is not a way to that user's password.
                where=credentials.c.user_id == credential.user_id,
            )
        )

    def _credential(self, row: Row[Any]) -> Credential:
        return Credential(
            id=row.id,
            user_id=row.user_id,
            type=row.type,
            created_at=row.created_at,
            credential_data=row.credential_data,
            secret_data=self._secrets.unseal(row.secret_data, _context(row.realm_id, row.id)),
            priority=row.priority,
        )


def _context(realm_id: str, credential_id: str) -> str:
    return f"credential:{realm_id}:{credential_id}"


def _values(user: User) -> dict[str, Any]:
    return {field: getattr(user, field) for field in _FIELDS}


def _user(row: Row[Any]) -> User:
    return User(**{field: getattr(row, field) for field in _FIELDS})
