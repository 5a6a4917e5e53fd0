"""Importing realms with the real parts, and looking at what was stored."""

import copy
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.admin.realm_files.files import RealmFile
from gateway.admin.realm_files.plan import ImportedRealm
from gateway.admin.realm_files.realm_import import RealmImport
from gateway.admin.realms.administrators import ensure_administrator
from gateway.crypto.passwords import PooledPasswordHasher
from gateway.crypto.x509.reader import X509AuthorityParser
from gateway.domain.clients.client import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.domain.users import User
from gateway.storage.sql.database import SqlDatabase
from tests.support.realms import dump_realm
from tests.support.set_clock import SetClock
from tests.support.signing_keys import shared_key_factory
from tests.support.storage import StoredDatabase

ELLIPTIC = {"defaultSignatureAlgorithm": "ES256"}
"""RSA keys take long to make."""
ACME: dict[str, Any] = {
    "realm": "acme",
    "enabled": True,
    **ELLIPTIC,
    "roles": {"realm": [{"name": "boss", "composites": {"realm": ["worker"]}}, {"name": "worker"}]},
    "clients": [
        {"clientId": "Robot", "serviceAccountsEnabled": True},
        {"clientId": "page", "publicClient": True},
    ],
    "users": [
        {
            "username": "alice",
            "enabled": True,
            "credentials": [{"type": "password", "value": "alice-canary"}],
            "realmRoles": ["boss"],
        },
        {"username": "bob", "credentials": [{"value": "bob-canary", "temporary": True}]},
    ],
}


class Messages:
    """Remembers what was published; `away` is a Redis that does not answer."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.away = False

    @property
    def connected(self) -> bool:
        """Tell whether Redis answers."""
        return not self.away

    async def publish(self, topics: Sequence[str]) -> None:
        """Remember the topics."""
        if self.away:
            raise StoreUnavailable("redis")
        self.topics.extend(topics)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Hear nothing."""
        del listener


class Imports:
    """The use case with its real parts."""

    def __init__(self, database: SqlDatabase, passwords: PooledPasswordHasher) -> None:
        self.database = database
        self.passwords = passwords
        self.keys = shared_key_factory()
        self.clock: Clock = SetClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
        self.messages = Messages()

    async def run(self, *documents: Any, skip_existing: bool = False) -> tuple[ImportedRealm, ...]:
        """Import documents as files `0.json`, `1.json` and so on."""
        importing = RealmImport(
            database=self.database,
            keys=self.keys,
            authorities=X509AuthorityParser(),
            passwords=self.passwords,
            clock=self.clock,
            invalidation=self.messages,
        )
        files = [RealmFile(f"{index}.json", item) for index, item in enumerate(documents)]
        return await importing.run(files, skip_existing=skip_existing)

    async def refused(self, *documents: Any) -> dict[str, str]:
        """Return what is refused, by path, with what was given."""
        with pytest.raises(InvalidInput) as refusal:
            await self.run(*documents)
        return {error.path: error.given for error in refusal.value.errors}

    async def administrator(self, username: str, password: str) -> bool:
        """Make the administrator of `master`."""
        return await ensure_administrator(
            database=self.database,
            keys=self.keys,
            passwords=self.passwords,
            clock=self.clock,
            username=username,
            password=Secret(password),
        )

    async def realm_text(self, name: str) -> bytes | None:
        """Return the realm's settings as stored."""
        async with self.database.read() as stores:
            realm = await stores.realms.find_by_name(name)
        return None if realm is None else dump_realm(realm)

    async def client(self, client_id: str, realm_id: str = "acme") -> Client:
        """Return the client as stored."""
        async with self.database.read() as stores:
            found = await stores.clients.find_by_client_id(realm_id, client_id)
        assert found is not None
        return found

    async def user(self, username: str, realm_id: str = "acme") -> User:
        """Return the user as stored."""
        async with self.database.read() as stores:
            found = await stores.users.find_by_username(realm_id, username)
        assert found is not None
        return found

    async def roles(self, username: str, realm_id: str = "acme") -> EffectiveRoles:
        """Return what the user may do."""
        user = await self.user(username, realm_id)
        async with self.database.read() as stores:
            return await stores.roles.effective(realm_id, user.id)

    async def password_is(self, username: str, password: str, realm_id: str = "acme") -> bool:
        """Tell whether the user's only credential is `password`."""
        user = await self.user(username, realm_id)
        async with self.database.read() as stores:
            (credential,) = await stores.users.credentials(realm_id, user.id)
        stored = (credential.credential_data, credential.secret_data)
        return await self.passwords.check_password(
            Secret(password), stored, realm_id=realm_id, algorithm=None
        )

    async def algorithms(self, realm_id: str = "acme") -> list[SignatureAlgorithm]:
        """Return what the realm's published keys sign with."""
        async with self.database.read() as stores:
            found = [key.algorithm for key in await stores.keys.list_keys(realm_id)]
        return sorted(item for item in found if isinstance(item, SignatureAlgorithm))


def changed(**settings: Any) -> dict[str, Any]:
    """Return the realm `acme` with other settings."""
    return copy.deepcopy(ACME) | settings


@pytest.fixture(scope="session")
def password_hasher() -> Iterator[PooledPasswordHasher]:
    """Hash passwords in one thread."""
    hasher = PooledPasswordHasher(1)
    yield hasher
    hasher.close()


@pytest.fixture
def imports_everywhere(database: SqlDatabase, password_hasher: PooledPasswordHasher) -> Imports:
    """Import on SQLite and on PostgreSQL."""
    return Imports(database, password_hasher)


@pytest.fixture
async def imports(
    sqlite_database: StoredDatabase,
    secrets_at_rest: SecretsAtRest,
    password_hasher: PooledPasswordHasher,
) -> AsyncIterator[Imports]:
    """Import on SQLite, for rules that are no affair of the database."""
    database = SqlDatabase(sqlite_database.url, secrets_at_rest)
    yield Imports(database, password_hasher)
    await database.dispose()
