"""Realms, clients, users, roles and keys for tests of storage."""

from datetime import UTC, datetime
from uuid import uuid4

from gateway.domain.clients.client import Client
from gateway.domain.groups import Group
from gateway.domain.keys import KeyStatus, RealmKey, SignatureAlgorithm
from gateway.domain.realm import Realm, Smtp
from gateway.domain.roles import Role
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User
from gateway.storage.sql.database import SqlDatabase

NOW = datetime(2026, 11, 20, 12, 30, 15, 123456, tzinfo=UTC)


def realm(name: str = "demo", **fields: object) -> Realm:
    return Realm(**({"id": f"{name}-id", "name": name, "enabled": True} | fields))  # type: ignore[arg-type] # any field may be set


def realm_with_mail(name: str = "demo", password: str = "mail-canary") -> Realm:
    smtp = Smtp({"host": "mail.test"}, Secret(password), Secret("canary-token"))
    return realm(name, smtp=smtp, webhook_secret=Secret("canary-of-a-webhook"))


def client(client_id: str = "device", of: str = "demo", **fields: object) -> Client:
    given = {"id": f"{client_id}-uuid", "realm_id": f"{of}-id", "client_id": client_id}
    return Client(**(given | fields))  # type: ignore[arg-type] # any field may be set


def user(username: str = "alice", of: str = "demo", **fields: object) -> User:
    given = {"id": f"{username}-uuid", "realm_id": f"{of}-id", "username": username}
    return User(**(given | {"enabled": True, "created_at": NOW} | fields))  # type: ignore[arg-type] # any field may be set


def role(name: str, of: str = "demo", **fields: object) -> Role:
    return Role(**({"id": f"{name}-role", "realm_id": f"{of}-id", "name": name} | fields))  # type: ignore[arg-type] # any field may be set


def group(name: str, above: str = "", of: str = "demo", **fields: object) -> Group:
    """Return a group below the one at the path `above`."""
    parent = above.rsplit("/", 1)[-1]
    given = {
        "id": f"{name}-group",
        "realm_id": f"{of}-id",
        "name": name,
        "path": f"{above}/{name}",
        "parent": f"{parent}-group" if parent else None,
    }
    return Group(**(given | fields))  # type: ignore[arg-type] # any field may be set


def credential(user_id: str = "alice-uuid", **fields: object) -> Credential:
    given = {"id": str(uuid4()), "user_id": user_id, "type": "password", "created_at": NOW}
    texts = {"credential_data": '{"hashIterations":5}', "secret_data": '{"value":"hash-canary"}'}
    return Credential(**(given | texts | fields))  # type: ignore[arg-type] # any field may be set


def key(kid: str = "kid-1", of: str = "demo", **fields: object) -> RealmKey:
    given = {
        "id": f"{kid}-id",
        "realm_id": f"{of}-id",
        "kid": kid,
        "algorithm": SignatureAlgorithm.RS256,
        "status": KeyStatus.ACTIVE,
        "created_at": NOW,
        "active_from": NOW,
        "private_key": Secret("key-canary"),
        "certificate": "-----BEGIN CERTIFICATE-----",
    }
    return RealmKey(**(given | fields))  # type: ignore[arg-type] # any field may be set


async def store_realms(database: SqlDatabase, *names: str) -> None:
    """Store a realm for each name."""
    async with database.write() as stores:
        for name in names:
            await stores.realms.add(realm(name))
