"""Migrations: complete, repeatable, one at a time, and harmless to a newer schema."""

import asyncio
import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import alembic.command
import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from click.testing import CliRunner
from sqlalchemy import Connection, text

from gateway.admin.users import LookAlike, store_missing_keys
from gateway.cli.installation import migrate as command
from gateway.domain.clients import certificate_terms
from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.domain.users import UserQuery
from gateway.representations.clients import parse_client, render_client
from gateway.representations.realms.realm import create_realm, parse_realm, render_realm
from gateway.representations.sites import parse_site
from gateway.storage.sql import migrations
from gateway.storage.sql.address import parse_database_url
from gateway.storage.sql.database import SqlDatabase, create_engines
from gateway.storage.sql.migrate import _ADVISORY_LOCK, current_revision, migrate, needs_migration
from gateway.storage.sql.migrations.target_schema import target_metadata
from tests.support.postgres import PostgresServer
from tests.support.storage import StoredDatabase
from tests.support.stored_values import store_realms

_MIGRATE = """
import asyncio, sys
from gateway.domain.secrets import Secret
from gateway.domain.users import UserQuery
from gateway.storage.sql.migrate import migrate
print(asyncio.run(migrate(Secret(sys.argv[1]))))
"""


_OLD_REALM = """
INSERT INTO realms (id, name, enabled, document) VALUES ('NAME-id', 'NAME', TRUE,
    '{"id": "NAME-id", "realm": "NAME", "smtpServer": {"authTokenClientSecret": "unsealed"}}')
"""
_OLD_USERS = """
WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers
    WHERE number < 1500)
INSERT INTO users (realm_id, id, username, enabled, created_at, email_verified, last_name, document)
SELECT realms.id, 'id' || number, 'u' || number, true, 0, false,
    'Ärger ' || substr('000' || number, length('000' || number) - 3),
    '{"attributes":{"Team":["T' || number || '","T' || number || '"]},'
    || '"requiredActions":["UPDATE_PASSWORD"]}'
FROM numbers, realms
"""

_OLD_CLIENT = """
INSERT INTO clients (realm_id, id, client_id, document) VALUES ('demo-id', 'c', 'c', '{}')
"""
_OLD_CLIENT_WITH_CERTIFICATE = """
INSERT INTO clients (realm_id, id, client_id, document) VALUES ('demo-id', 'd', 'd',
    '{"id": "d", "clientId": "d", "clientAuthenticatorType": "client-x509", "attributes":
    {"x509.subjectdn": "CN=d, O=Old", "x509.allow.regex.pattern.comparison": "false"}}')
"""
_OLD_SERVICE_ACCOUNT = """
INSERT INTO users (realm_id, id, username, enabled, created_at, email_verified, last_name, document,
    service_account_client)
VALUES ('demo-id', 's', 's', true, 0, false, 'Ärger 1509', '{}', 'c')
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Secret]:
    """Return the URL of a database without any schema."""
    if request.param == "sqlite":
        yield Secret(f"sqlite:///{tmp_path}/deep%20er/realmgate.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        name = server.create_database()
        yield server.url(name)
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def _change(url: Secret, statement: str, **values: str) -> None:
    engines = create_engines(parse_database_url(url))
    async with engines.writer.begin() as connection:
        await connection.execute(text(statement), values)
    await engines.dispose()


_DROP_SEARCH = {
    "sqlite": [f"DROP TABLE user_search{part}" for part in ("", "_terms", "_places")],
    "postgresql": ["DROP FUNCTION user_search_terms"],
}


async def _drop_everything(url: Secret) -> None:
    engines = create_engines(parse_database_url(url))
    async with engines.writer.begin() as connection:
        await connection.run_sync(target_metadata.drop_all)
        for statement in _DROP_SEARCH[connection.dialect.name]:
            await connection.execute(text(statement))
        await connection.execute(text("DROP TABLE alembic_version"))
    await engines.dispose()


async def _upgrade(url: Secret, revision: str) -> None:
    """Bring an empty database to an earlier revision, as an earlier version did."""

    def upgrade(connection: Connection) -> None:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(Path(migrations.__file__).parent))
        config.set_main_option("path_separator", "os")
        alembic.command.upgrade(config, revision)

    engines = create_engines(parse_database_url(url))
    async with engines.writer.begin() as connection:
        await connection.run_sync(upgrade)
    await engines.dispose()


async def test_a_new_database_is_brought_to_the_head_once(empty_database: Secret) -> None:
    assert await current_revision(empty_database) is None
    assert await needs_migration(empty_database)
    assert await migrate(empty_database)
    assert await current_revision(empty_database) == migrations.HEAD
    assert not await needs_migration(empty_database)
    assert not await migrate(empty_database)


def _is_named_by_the_program(name: str | None, kind: str, parents: object) -> bool:
    """Leave out what each database makes for itself to search users by."""
    del kind, parents
    return not str(name).startswith(("user_search", "uq_user_search", "ix_users_search"))


async def test_the_migrated_schema_is_the_one_the_program_names(
    stored_database: StoredDatabase,
) -> None:
    def differences(connection: Connection) -> list[object]:
        options = {"compare_type": True, "include_name": _is_named_by_the_program}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, target_metadata))

    engines = create_engines(parse_database_url(stored_database.url))
    try:
        async with engines.reader.connect() as connection:
            found = await connection.run_sync(differences)
    finally:
        await engines.dispose()
    assert found == []


def test_revisions_are_one_line_of_numbers_that_ends_at_the_head() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    line = list(ScriptDirectory.from_config(config).walk_revisions())
    assert [found.revision for found in reversed(line)] == [
        f"{number:04}" for number in range(1, int(migrations.HEAD) + 1)
    ]


def test_two_gateways_that_migrate_at_once_do_it_once(empty_database: Secret) -> None:
    migrators = [
        subprocess.Popen(
            [sys.executable, "-c", _MIGRATE, empty_database.reveal()],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    answers = [migrator.communicate(timeout=30)[0].strip() for migrator in migrators]
    assert sorted(answers) == ["False", "False", "True"]


async def test_while_another_gateway_migrates_the_file_is_left_alone(tmp_path: Path) -> None:
    url = Secret(f"sqlite:///{tmp_path}/realmgate.db")
    with (tmp_path / "realmgate.db.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = asyncio.create_task(migrate(url))
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        assert done == set()
        assert await current_revision(url) is None
    assert await waiting


async def test_while_another_gateway_migrates_the_server_is_left_alone(
    postgres: PostgresServer,
) -> None:
    name = await asyncio.to_thread(postgres.create_database)
    url = postgres.url(name)
    other = await asyncpg.connect(url.reveal())
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    try:
        await other.execute("SELECT pg_advisory_lock($1)", _ADVISORY_LOCK)
        waiting = asyncio.create_task(migrate(url))
        async with asyncio.timeout(10):
            while not await other.fetchval(waits):
                assert not waiting.done(), "it did not ask for the lock"
        assert await current_revision(url) is None
        await other.execute("SELECT pg_advisory_unlock($1)", _ADVISORY_LOCK)
        assert await waiting
    finally:
        await other.close()


async def test_a_schema_of_a_newer_version_is_left_alone_and_used(
    stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    """During a rolling upgrade this version works on the next one's schema."""
    await _change(stored_database.url, "UPDATE alembic_version SET version_num = '9999'")
    await _change(stored_database.url, "ALTER TABLE realms ADD COLUMN future TEXT DEFAULT 'x'")
    try:
        assert not await needs_migration(stored_database.url)
        assert not await migrate(stored_database.url)
        assert await current_revision(stored_database.url) == "9999"
        database = SqlDatabase(stored_database.url, secrets_at_rest)
        await store_realms(database, "demo")
        await database.dispose()
    finally:
        await _change(stored_database.url, "ALTER TABLE realms DROP COLUMN future")
        back = "UPDATE alembic_version SET version_num = '{}'"
        await _change(stored_database.url, back.format(migrations.HEAD))


async def test_a_migration_that_fails_leaves_nothing_behind(empty_database: Secret) -> None:
    """A table that is in the way stops the first revision half way."""
    await migrate(empty_database)
    await _drop_everything(empty_database)
    await _change(empty_database, "CREATE TABLE revocations (in_the_way TEXT)")
    with pytest.raises(StoreUnavailable):
        await migrate(empty_database)
    assert await current_revision(empty_database) is None
    await _change(empty_database, "DROP TABLE revocations")
    assert await migrate(empty_database)


async def test_users_of_the_first_schema_can_be_searched(
    empty_database: Secret, secrets_at_rest: SecretsAtRest
) -> None:
    """More of them than fit into one batch of the migration, in two realms."""
    await migrate(empty_database)
    await _drop_everything(empty_database)
    await _upgrade(empty_database, "0001")
    database = SqlDatabase(empty_database, secrets_at_rest)
    for name in ("demo", "other"):
        await _change(empty_database, _OLD_REALM.replace("NAME", name))
    await _change(empty_database, _OLD_USERS)
    await _change(empty_database, _OLD_CLIENT)
    await _change(empty_database, _OLD_CLIENT_WITH_CERTIFICATE)
    await _change(empty_database, _OLD_SERVICE_ACCOUNT)
    await database.dispose()
    assert await migrate(empty_database)
    async with database.read() as stores:
        for realm in ("demo-id", "other-id"):
            for number in (1, 1500):
                query = UserQuery(last_name=f"ÄRGER {number:04}", attributes={"TEAM": f"t{number}"})
                (found,) = await stores.users.search_users(realm, query, 0, 10)
                assert found.username == f"u{number}"
                assert found.attributes == {"Team": (f"T{number}", f"T{number}")}
                assert found.required_actions == ("UPDATE_PASSWORD",)
            assert await stores.users.count_users(realm, UserQuery(search="är")) == 1500
            assert await stores.users.count_users(realm, UserQuery(search="*ger*150")) == 3
        with_certificate = await stores.clients.find_by_client_id("demo-id", "d")
        assert with_certificate is not None
        terms = certificate_terms(with_certificate)
        assert await stores.clients.with_certificate_terms("demo-id", terms, 9) == ("d",)
        realm_before = await stores.realms.find_by_name("demo")
    assert realm_before is not None
    assert realm_before.smtp.token_secret == Secret("unsealed")
    assert "unsealed" not in str(render_realm(realm_before))
    await database.dispose()


_LOOK_ALIKES = """
INSERT INTO users (realm_id, id, username, email, enabled, created_at, email_verified, document)
VALUES ('demo-id', 'younger', 'strasse', 'X@demo.test', true, 2, false, '{}'),
    ('demo-id', 'older', 'straße', 'x@xn--bcher-kva.example', true, 1, false, '{}'),
    ('other-id', 'other', 'strasse', NULL, true, 2, false, '{}')
"""
_REGISTERED_KEYS = """
INSERT INTO credentials (realm_id, id, user_id, type, created_at, credential_data, secret_data,
    priority)
VALUES
    ('demo-id', '1', 'younger', 'webauthn', 2, '{"credentialId": "AAEC+/8="}', 'x', 1),
    ('demo-id', '2', 'older', 'webauthn', 1, '{"credentialId": "AAEC-_8"}', 'x', 1),
    ('demo-id', '3', 'older', 'webauthn-passwordless', 3, '{"credentialId": "AAEC-_8"}', 'x', 1),
    ('demo-id', '4', 'older', 'webauthn', 3, 'unreadable', 'x', 1),
    ('demo-id', '5', 'older', 'password', 3, '{"credentialId": "AAEC-_8"}', 'x', 1)
"""


async def test_users_that_look_alike_stop_no_migration(
    empty_database: Secret, secrets_at_rest: SecretsAtRest
) -> None:
    """The older one has the key. Both are found by their names."""
    await migrate(empty_database)
    await _drop_everything(empty_database)
    await _upgrade(empty_database, "0018")
    for name in ("demo", "other"):
        await _change(empty_database, _OLD_REALM.replace("NAME", name))
    await _change(empty_database, _LOOK_ALIKES)
    await _change(empty_database, _REGISTERED_KEYS)
    assert await migrate(empty_database)
    keys = {
        "users": "SELECT id, username_key, email_key FROM users",
        "credentials": "SELECT id, key_id IS NOT NULL FROM credentials",
    }
    engines = create_engines(parse_database_url(empty_database))
    async with engines.reader.connect() as connection:
        found: dict[str, dict[str, tuple[object, ...]]] = {
            table: {row[0]: tuple(row[1:]) for row in await connection.execute(text(statement))}
            for table, statement in keys.items()
        }
    await engines.dispose()
    assert found["users"] == {
        "older": ("strasse", "x@bücher.example"),
        "younger": (None, "x@demo.test"),
        "other": ("strasse", None),
    }
    assert {name for name, (has_key,) in found["credentials"].items() if has_key} == {"2", "3"}
    database = SqlDatabase(empty_database, secrets_at_rest)
    assert await store_missing_keys(database) == (
        LookAlike("demo-id", "username", "straße", "strasse"),
    )
    await database.dispose()


async def test_the_database_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    await migrate(Secret(f"sqlite:///{tmp_path}/realmgate.db"))
    assert (tmp_path / "realmgate.db").stat().st_mode & 0o077 == 0


async def test_a_database_that_does_not_answer_is_an_outage(tmp_path: Path) -> None:
    for url in (f"postgresql://u:canary@/x?host={tmp_path}", "postgresql://u:canary@h:port/x"):
        for question in (current_revision, needs_migration, migrate):
            with pytest.raises(StoreUnavailable) as caught:
                await question(Secret(url))
            assert "canary" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("url", ["", "canary", "mysql://canary@h/x", "sqlite://", "sqlite:///"])
def test_a_url_of_another_form_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_database_url(Secret(url))
    assert "canary" not in str(caught.value)


def test_the_exit_code_says_whether_migrations_are_pending(
    empty_database: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REALMGATE_DATABASE_URL", empty_database.reveal())
    runner = CliRunner()
    assert runner.invoke(command, ["--check"]).exit_code == 1
    assert asyncio.run(current_revision(empty_database)) is None, "a check changes nothing"
    assert runner.invoke(command, []).exit_code == 0
    assert runner.invoke(command, ["--check"]).exit_code == 0


async def test_a_missing_column_is_distinguished_from_an_outage(
    empty_database: Secret, secrets_at_rest: SecretsAtRest
) -> None:
    await migrate(empty_database)
    await _drop_everything(empty_database)
    await _upgrade(empty_database, "0001")
    database = SqlDatabase(empty_database, secrets_at_rest)
    with pytest.raises(StoreUnavailable, match="another version's, see realmgate migrate"):
        async with database.read() as stores:
            await stores.realms.list_realms()
    await database.dispose()


@pytest.mark.parametrize("question", ["needs_migration", "migrate"])
def test_where_nothing_is_to_be_done_nothing_heavy_is_loaded(
    sqlite_database: StoredDatabase, question: str
) -> None:
    """It is asked at every start, and start-up time is a budget."""
    program = (
        "import asyncio, sys\n"
        "from gateway.domain.secrets import Secret\n"
        f"from gateway.storage.sql.migrate import {question}\n"
        f"print(asyncio.run({question}(Secret(sys.argv[1]))), *sys.modules)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, sqlite_database.url.reveal()],
        capture_output=True,
        text=True,
        check=True,
    )
    changed, *modules = answer.stdout.split()
    assert changed == "False"
    assert "alembic" not in modules


_SETTINGS_OF_REALMS: tuple[dict[str, Any], ...] = (
    {"defaultSignatureAlgorithm": "", "otpPolicyType": "hotp", "otpPolicyDigits": 8},
    {"passwordPolicy": "length(12) and notUsername and hashIterations(7)"},
    {"browserSecurityHeaders": {"xFrameOptions": "DENY", "own.header": "x"}},
    {"smtpServer": {"host": "mail.test", "from": "a@b.test", "port": "25"}},
    {"quickLoginCheckMilliSeconds": 1_234, "bruteForceStrategy": "LINEAR", "failureFactor": 3},
    {"supportedLocales": ["de", "fr"], "internationalizationEnabled": True, "defaultLocale": "de"},
    {"attributes": {"realmgate.login.accentColor": "#fff", "free": "\u202e\n"}},
    {"clientPolicies": {"policies": [{"name": "p"}]}, "userManagedAccessAllowed": True},
    {"defaultRole": {"name": "role of another name"}, "eventsExpiration": 60},
    {"webAuthnPolicyPasswordlessMediation": "conditional", "webAuthnPolicyExtraOrigins": ["a"]},
)


@cache
def _realm_of_0022(number: int) -> dict[str, Any]:
    """Return a document as revision 0022 has it: Keycloak's JSON with unknown members."""
    unknown = {"version": number, "x-later": {"b": [None, 1.50, "é😀"], "a": {}}}
    name = f"realm-{number:04}"
    given = {"realm": name, "enabled": True, **_SETTINGS_OF_REALMS[number % 10], **unknown}
    return render_realm(create_realm(given, report_ineffective=True))


@cache
def _client_of_0022(number: int) -> dict[str, Any]:
    given = {
        "id": f"uuid-{number}",
        "clientId": f"app {number}",
        "name": "App",
        "redirectUris": ["https://a.test/*"],
        "webOrigins": ["+"],
        "attributes": {"x": "y", "access.token.lifespan": str(number)},
        "x-later": [{"b": 1, "a": None}],
        "protocolMappers": [
            {
                "id": "m",
                "name": "m",
                "protocol": "saml",
                "protocolMapper": "p",
                "config": {"k": "v"},
            }
        ],
    }
    return render_client(parse_client(given, f"realm-{number:04}"))


async def _store_documents_of_0022(url: Secret, count: int) -> None:
    """Bring an empty database to revision 0022 with realms, clients, client scopes and sites."""
    await migrate(url)
    await _drop_everything(url)
    await _upgrade(url, "0022")
    realms, clients, scopes, sites = [], [], [], []
    for number in range(count):
        realm, client = _realm_of_0022(number), _client_of_0022(number)
        realm_id = realm["id"]
        realms.append({"id": realm_id, "name": realm["realm"], "text": json.dumps(realm)})
        clients.append(
            {"realm": realm_id, "id": client["id"], "name": client["clientId"]}
            | {"text": json.dumps(client)}
        )
        scope = {"id": "s", "name": "s", "protocol": "saml", "attributes": {"gui.order": "1"}}
        scopes.append({"realm": realm_id, "text": json.dumps(scope)})
        sites.append({"realm": realm_id, "text": json.dumps(_SITE)})
    engines = create_engines(parse_database_url(url))
    async with engines.writer.begin() as connection:
        for table, rows in (
            ("realms (id, name, enabled, document) VALUES (:id, :name, true, :text)", realms),
            (
                "clients (realm_id, id, client_id, document) VALUES (:realm, :id, :name, :text)",
                clients,
            ),
            (
                "client_scopes (realm_id, id, name, document) VALUES (:realm, 's', 's', :text)",
                scopes,
            ),
            ("sites (realm_id, name, document) VALUES (:realm, 'wiki', :text)", sites),
        ):
            await connection.execute(text(f"INSERT INTO {table}"), rows)
    await engines.dispose()


_SITE: dict[str, Any] = {
    "name": "wiki",
    "hosts": ["wiki.example.org"],
    "client": "wiki",
    "bearerAudience": "site",
    "cookieDomain": "example.org",
    "forwardAuthorization": False,
    "rules": [
        {"name": "open", "paths": ["/public/*"], "anonymous": True},
        {"name": "staff", "paths": ["/*"], "methods": ["GET"], "realmRoles": ["staff"]}
        | {"accepts": ["bearer"], "boundOnly": True, "audiences": ["a"]},
    ],
}


async def test_1000_realms_of_revision_0022_keep_every_byte(
    empty_database: Secret, secrets_at_rest: SecretsAtRest
) -> None:
    """With clients, client scopes, sites, and members that no version knows."""
    await _store_documents_of_0022(empty_database, 1_000)
    assert await migrate(empty_database)
    assert not await migrate(empty_database)
    database = SqlDatabase(empty_database, secrets_at_rest)
    async with database.read() as stores:
        realms = await stores.realms.list_realms()
        assert len(realms) == 1_000
        for number, realm in enumerate(realms):
            before = json.dumps(_realm_of_0022(number))
            assert json.dumps(render_realm(realm)) == before
            assert realm == parse_realm(json.loads(before), report_ineffective=True)
        for number in (0, 499, 500, 999):
            realm_id = realms[number].id
            (client,) = await stores.clients.list_clients(realm_id)
            before = json.dumps(_client_of_0022(number))
            assert json.dumps(render_client(client)) == before
            assert client == parse_client(json.loads(before), realm_id)
            (scope,) = await stores.client_scopes.list_values(realm_id)
            assert (scope.id, scope.protocol, scope.attributes) == ("s", "saml", {"gui.order": "1"})
            (site,) = await stores.sites.list_sites(realm_id)
            assert site == parse_site(_SITE, realm=realms[number].name)
    await database.dispose()


async def test_unreadable_documents_are_named_and_nothing_is_changed(
    empty_database: Secret, secrets_at_rest: SecretsAtRest
) -> None:
    await _store_documents_of_0022(empty_database, 3)
    part = "SET document = replace(document, :old, :new) WHERE"
    for statement, old, new in (
        (f"UPDATE realms {part} name = 'realm-0001'", '"external"', '"canary"'),
        (f"UPDATE realms {part} name = 'realm-0002'", "{", "["),
        (f"UPDATE clients {part} client_id = 'app 0'", '"enabled": true', '"enabled": ["canary"]'),
    ):
        await _change(empty_database, statement, old=old, new=new)
    with pytest.raises(InvalidInput) as refusal:
        await migrate(empty_database)
    assert [error.path for error in refusal.value.errors] == [
        "realm realm-0001: sslRequired",
        "realm realm-0002: the document",
        "client app 0 of realm realm-0000: enabled",
    ]
    assert "canary" not in str(refusal.value)
    assert await current_revision(empty_database) == "0022"
    for number in (1, 2):
        statement = "UPDATE realms SET document = :repaired WHERE name = :name"
        repaired = json.dumps(_realm_of_0022(number))
        await _change(empty_database, statement, repaired=repaired, name=f"realm-000{number}")
    await _change(empty_database, "DELETE FROM clients WHERE client_id = 'app 0'")
    assert await migrate(empty_database), "an interrupted migration runs again"
    database = SqlDatabase(empty_database, secrets_at_rest)
    async with database.read() as stores:
        assert len(await stores.realms.list_realms()) == 3
    await database.dispose()
