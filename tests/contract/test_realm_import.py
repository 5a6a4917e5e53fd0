"""Importing and exporting realm files, on SQLite and on PostgreSQL. Keycloak: realm import."""

import copy
import json
import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.admin.bootstrap_administrator import ensure_administrator
from gateway.admin.realm_export import export_realm
from gateway.admin.realm_files import REFERENCE_REALMS, RealmFile, load_realm_files
from gateway.admin.realm_import import ImportedRealm, RealmImport
from gateway.crypto.passwords import PooledPasswordHasher
from gateway.crypto.signing_keys import PyJwtKeyFactory
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import InvalidInput, RealmNotFound, StoreUnavailable
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import Secret
from gateway.domain.users import User
from gateway.representations.realm import dump_realm
from gateway.storage.sql.database import SqlDatabase

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


class StoppedClock:
    def now(self) -> datetime:
        return datetime(2026, 11, 20, 12, tzinfo=UTC)


class Messages:
    """Remembers what was published; `away` is a Redis that does not answer."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.away = False

    @property
    def connected(self) -> bool:
        return not self.away

    async def publish(self, topic: str) -> None:
        if self.away:
            raise StoreUnavailable("redis")
        self.topics.append(topic)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        del listener


class Imports:
    """The use case with its real parts."""

    def __init__(self, database: SqlDatabase, passwords: PooledPasswordHasher) -> None:
        self.database = database
        self.passwords = passwords
        self.keys = PyJwtKeyFactory()
        self.clock: Clock = StoppedClock()
        self.messages = Messages()

    async def run(self, *documents: Any, skip_existing: bool = False) -> tuple[ImportedRealm, ...]:
        importing = RealmImport(
            database=self.database,
            keys=self.keys,
            passwords=self.passwords,
            clock=self.clock,
            invalidation=self.messages,
        )
        files = [RealmFile(f"{index}.json", item) for index, item in enumerate(documents)]
        return await importing.run(files, skip_existing=skip_existing)

    async def refused(self, *documents: Any) -> dict[str, str]:
        with pytest.raises(InvalidInput) as refusal:
            await self.run(*documents)
        return {error.path: error.given for error in refusal.value.errors}

    async def administrator(self, username: str, password: str) -> bool:
        return await ensure_administrator(
            database=self.database,
            keys=self.keys,
            passwords=self.passwords,
            clock=self.clock,
            username=username,
            password=Secret(password),
        )

    async def realm_text(self, name: str) -> bytes | None:
        async with self.database.read() as stores:
            realm = await stores.realms.find_by_name(name)
        return None if realm is None else dump_realm(realm)

    async def client(self, client_id: str, realm_id: str = "acme") -> Client:
        async with self.database.read() as stores:
            found = await stores.clients.find_by_client_id(realm_id, client_id)
        assert found is not None
        return found

    async def user(self, username: str, realm_id: str = "acme") -> User:
        async with self.database.read() as stores:
            found = await stores.users.find_by_username(realm_id, username)
        assert found is not None
        return found

    async def roles(self, username: str, realm_id: str = "acme") -> EffectiveRoles:
        user = await self.user(username, realm_id)
        async with self.database.read() as stores:
            return await stores.roles.effective(realm_id, user.id)

    async def password_is(self, username: str, password: str, realm_id: str = "acme") -> bool:
        user = await self.user(username, realm_id)
        async with self.database.read() as stores:
            (credential,) = await stores.users.credentials(realm_id, user.id)
        return await self.passwords.verify(
            Secret(password), credential.credential_data, credential.secret_data
        )

    async def algorithms(self, realm_id: str = "acme") -> list[SignatureAlgorithm]:
        async with self.database.read() as stores:
            return sorted(key.algorithm for key in await stores.keys.list(realm_id))


@pytest.fixture
async def imports(database: SqlDatabase) -> AsyncIterator[Imports]:
    passwords = PooledPasswordHasher(1)
    yield Imports(database, passwords)
    passwords.close()


def changed(**settings: Any) -> dict[str, Any]:
    return copy.deepcopy(ACME) | settings


async def test_a_new_realm_gets_a_key_the_built_in_roles_and_what_the_file_brings(
    imports: Imports,
) -> None:
    (done,) = await imports.run(ACME)
    assert (done.created, done.clients, done.users) == (True, 2, 2)
    assert await imports.algorithms() == [SignatureAlgorithm.ES256]
    async with imports.database.read() as stores:
        names = {role.name for role in await stores.roles.list("acme")}
    assert names == {
        "boss",
        "worker",
        "default-roles-acme",
        "offline_access",
        "uma_authorization",
    }
    assert (await imports.roles("alice")).realm == ("boss", "worker")
    assert await imports.password_is("alice", "alice-canary")
    assert imports.messages.topics == ["realm:acme"]


async def test_a_user_without_named_roles_has_the_default_ones(imports: Imports) -> None:
    await imports.run(ACME)
    assert (await imports.roles("bob")).realm == (
        "default-roles-acme",
        "offline_access",
        "uma_authorization",
    )


async def test_a_temporary_password_must_be_changed(imports: Imports) -> None:
    await imports.run(ACME)
    assert (await imports.user("bob")).document["requiredActions"] == ["UPDATE_PASSWORD"]
    assert "requiredActions" not in (await imports.user("alice")).document


async def test_a_confidential_client_without_a_secret_gets_a_strong_one(imports: Imports) -> None:
    await imports.run(ACME)
    robot = await imports.client("Robot")
    assert robot.secret is not None
    assert re.fullmatch("[A-Za-z0-9_-]{43}", robot.secret.reveal())
    assert robot.attributes["client.secret.creation.time"] == "1795176000"
    assert (await imports.client("page")).secret is None


async def test_a_service_account_stands_beside_its_client(imports: Imports) -> None:
    await imports.run(ACME)
    robot = await imports.client("Robot")
    account = await imports.user("service-account-robot")
    assert account.service_account_client == robot.id
    assert account.enabled
    assert (await imports.roles("service-account-robot")).realm[0] == "default-roles-acme"
    assert "service_account" in robot.default_client_scopes
    assert "service_account" not in (await imports.client("page")).default_client_scopes


async def test_importing_again_changes_nothing(imports: Imports) -> None:
    await imports.run(ACME)
    before = await export_realm(imports.database, "acme", include_secrets=True)
    (done,) = await imports.run(ACME)
    assert (done.created, done.clients, done.users) == (False, 0, 0)
    assert await export_realm(imports.database, "acme", include_secrets=True) == before
    assert await imports.algorithms() == [SignatureAlgorithm.ES256]


async def test_importing_again_merges_and_removes_nothing(imports: Imports) -> None:
    await imports.run(ACME)
    robot = await imports.client("Robot")
    await imports.run({"realm": "acme", "displayName": "Acme", "clients": [{"clientId": "new"}]})
    text = await imports.realm_text("acme")
    assert text is not None
    settings = json.loads(text)
    assert (settings["displayName"], settings["enabled"]) == ("Acme", True)
    assert await imports.client("Robot") == robot
    assert await imports.user("alice")


async def test_a_known_client_keeps_id_and_secret_unless_the_file_has_another(
    imports: Imports,
) -> None:
    await imports.run(ACME)
    before = await imports.client("Robot")
    await imports.run(changed(clients=[{"clientId": "Robot", "id": "other", "enabled": False}]))
    after = await imports.client("Robot")
    assert (after.id, after.secret, after.enabled) == (before.id, before.secret, False)
    await imports.run(changed(clients=[{"clientId": "Robot", "secret": "canary"}]))
    assert (await imports.client("Robot")).secret == Secret("canary")


async def test_a_known_user_is_left_alone(imports: Imports) -> None:
    await imports.run(ACME)
    other = {"username": "alice", "enabled": False, "credentials": [{"value": "other"}]}
    await imports.run(changed(users=[{**other, "realmRoles": ["offline_access"]}]))
    assert (await imports.user("alice")).enabled
    assert await imports.password_is("alice", "alice-canary")
    assert (await imports.roles("alice")).realm == ("boss", "worker")


async def test_existing_realms_may_be_skipped(imports: Imports) -> None:
    await imports.run(ACME)
    before = await imports.realm_text("acme")
    imports.messages.topics.clear()
    skipped, created = await imports.run(
        [changed(enabled=False), {"realm": "other", **ELLIPTIC}], skip_existing=True
    )
    assert (skipped.skipped, created.created) == (True, True)
    assert await imports.realm_text("acme") == before
    assert imports.messages.topics == ["realm:other"]


async def test_another_default_algorithm_brings_its_key(imports: Imports) -> None:
    await imports.run(ACME)
    await imports.run({"realm": "acme", "default_signature_algorithm": "EdDSA"})
    assert await imports.algorithms() == [SignatureAlgorithm.ES256, SignatureAlgorithm.EDDSA]


async def test_one_wrong_file_keeps_all_files_out_and_every_error_is_told(
    imports: Imports,
) -> None:
    wrong = [
        {"realm": "one", "enabled": "yes", "clients": [{"clientId": "x", "notBefore": -1}]},
        {"realm": "a b", "users": [{"username": ""}]},
    ]
    found = await imports.refused(ACME, wrong, {"realm": "two", "roles": {"realm": [{}]}})
    assert found.keys() == {
        "1.json: [0].enabled",
        "1.json: [0].clients[0].notBefore",
        "1.json: [1].realm",
        "1.json: [1].users[0].username",
        "2.json: roles.realm[0].name",
    }
    assert await imports.realm_text("acme") is None
    assert imports.messages.topics == []


async def test_a_wrong_file_leaves_an_existing_realm_as_it_was(imports: Imports) -> None:
    await imports.run(ACME)
    before = await export_realm(imports.database, "acme", include_secrets=True)
    broken = changed(displayName="new", users=[{"username": "carol", "realmRoles": ["nobody"]}])
    assert await imports.refused(broken) == {"0.json: users[0].realmRoles": '"nobody"'}
    assert await export_realm(imports.database, "acme", include_secrets=True) == before


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"clients": {}}, "clients"),
        ({"clients": ["x"]}, "clients[0]"),
        ({"clients": [{"clientId": "x"}, {"clientId": "x"}]}, "clients"),
        ({"users": 5}, "users"),
        ({"users": [{"username": "u", "credentials": [{"value": 5}]}]}, "users[0].credentials[0].value"),
        ({"users": [{"username": "u", "serviceAccountClientId": []}]}, "users[0].serviceAccountClientId"),
        ({"roles": {"client": {"nobody": [{"name": "r"}]}}}, "roles.client.nobody[0]"),
        (
            {"roles": {"realm": [{"name": "a", "composites": {"realm": ["b"]}}]}},
            "roles.realm[0].composites",
        ),
    ],
)  # fmt: skip
async def test_a_wrong_part_is_refused_where_it_stands(
    imports: Imports, part: dict[str, Any], path: str
) -> None:
    found = await imports.refused({"realm": "acme", **ELLIPTIC, **part})
    assert found.keys() == {f"0.json: {path}"}


@pytest.mark.parametrize("document", [[], 5, "realm", None, [[]]])
async def test_a_file_without_realms_is_refused(imports: Imports, document: object) -> None:
    assert len(await imports.refused(document)) == 1


async def test_a_refused_password_is_never_shown(imports: Imports) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await imports.run(
            changed(users=[{"username": "u", "credentials": [{"value": "canary\0"}]}])
        )
    assert "canary" not in str(refusal.value)


async def test_what_is_not_imported_is_named(imports: Imports) -> None:
    document = {"realm": "acme", **ELLIPTIC, "groups": [{"name": "g"}], "components": {}}
    (done,) = await imports.run(document)
    assert done.not_imported == ("groups",)


async def test_a_lost_message_is_told_and_the_realm_is_stored(imports: Imports) -> None:
    imports.messages.away = True
    (done,) = await imports.run(ACME)
    assert done.announced is False
    assert await imports.realm_text("acme") is not None


async def test_an_exported_realm_is_the_same_after_an_import_elsewhere(
    imports: Imports,
) -> None:
    await imports.run(ACME)
    text = await export_realm(imports.database, "acme", include_secrets=True)
    moved = json.loads(text.replace(b'"acme"', b'"moved"'))
    await imports.run(moved)
    assert (await imports.client("Robot", "moved")).secret == (await imports.client("Robot")).secret
    assert await imports.password_is("alice", "alice-canary", "moved")
    assert (await imports.roles("alice", "moved")).realm == ("boss", "worker")
    account = await imports.user("service-account-robot", "moved")
    assert account.service_account_client == (await imports.client("Robot", "moved")).id


async def test_an_export_shows_no_secret_unless_asked(imports: Imports) -> None:
    mail = {"host": "mail.test", "password": "mail-canary"}
    await imports.run(
        changed(smtpServer=mail, clients=[{"clientId": "c", "secret": "client-canary"}])
    )
    user = await imports.user("alice")
    async with imports.database.read() as stores:
        (credential,) = await stores.users.credentials("acme", user.id)
    secrets = ["mail-canary", "client-canary", json.loads(credential.secret_data)["value"]]
    masked = (await export_realm(imports.database, "acme")).decode()
    assert [secret for secret in secrets if secret in masked] == []
    clear = (await export_realm(imports.database, "acme", include_secrets=True)).decode()
    assert [secret for secret in secrets if secret in clear] == secrets
    assert "PRIVATE KEY" not in clear


async def test_a_masked_export_put_back_keeps_every_secret(imports: Imports) -> None:
    await imports.run(ACME)
    before = await export_realm(imports.database, "acme", include_secrets=True)
    await imports.run(json.loads(await export_realm(imports.database, "acme")))
    assert await export_realm(imports.database, "acme", include_secrets=True) == before


async def test_no_unknown_realm_is_exported(imports: Imports) -> None:
    with pytest.raises(RealmNotFound):
        await export_realm(imports.database, "nobody")


async def test_the_administrator_is_made_once_and_never_set_back(imports: Imports) -> None:
    await imports.run({"realm": "master", "enabled": True, **ELLIPTIC})
    assert await imports.administrator("Root", "first-canary") is True
    assert await imports.administrator("root", "second-canary") is False
    assert await imports.password_is("root", "first-canary", "master")
    assert (await imports.roles("root", "master")).realm == (
        "admin",
        "create-realm",
        "default-roles-master",
        "offline_access",
        "uma_authorization",
    )


async def test_the_administrator_brings_the_master_realm_where_there_is_none(
    imports: Imports,
) -> None:
    assert await imports.administrator("root", "canary")
    text = await imports.realm_text("master")
    assert text is not None
    assert json.loads(text)["enabled"] is True
    assert await imports.algorithms("master") == [SignatureAlgorithm.RS256]


async def test_the_reference_configuration_is_imported_and_returned_as_it_is(
    imports: Imports,
) -> None:
    (file,) = load_realm_files([REFERENCE_REALMS])
    for realm in file.document:
        realm["default_signature_algorithm"] = "ES256"
    done = await imports.run(file.document)
    assert [(realm.name, realm.clients) for realm in done] == [("master", 0), ("demo", 4)]
    text = await imports.realm_text("demo")
    assert text is not None
    written = json.loads(text)
    assert written["browserSecurityHeaders"]["xFrameOptions"] == "SOMEORIGIN"
    assert written["passwordPolicy"].startswith("hashAlgorithm(pbkdf2-sha-256) and ")
    device = await imports.client("demo-device", "demo")
    assert device.secret is None
    assert device.attributes["tls.client.certificate.bound.access.tokens"] == "true"
