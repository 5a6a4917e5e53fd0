"""What an import adds, merges and leaves alone. Keycloak: realm import."""

import json
import re
from typing import Any

import pytest

from gateway.admin.realm_files.files import REFERENCE_REALMS, load_realm_files
from gateway.crypto.passwords import PooledPasswordHasher
from gateway.domain.errors import InvalidInput
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase
from tests.support.realm_imports import ACME, ELLIPTIC, Imports, changed


def one_user(**fields: Any) -> dict[str, Any]:
    return {"users": [{"username": "u", **fields}]}


async def test_a_user_without_named_roles_has_the_default_ones(imports: Imports) -> None:
    await imports.run(ACME)
    assert (await imports.roles("bob")).realm == (
        "default-roles-acme",
        "offline_access",
        "uma_authorization",
    )


async def test_a_temporary_password_must_be_changed(imports: Imports) -> None:
    await imports.run(ACME)
    assert (await imports.user("bob")).required_actions == ("UPDATE_PASSWORD",)
    assert (await imports.user("alice")).required_actions == ()


async def test_a_confidential_client_without_secret_gets_a_strong_one(imports: Imports) -> None:
    await imports.run(ACME)
    robot = await imports.client("Robot")
    assert robot.secret is not None
    assert re.fullmatch("[A-Za-z0-9_-]{43}", robot.secret.reveal())
    assert robot.attributes["client.secret.creation.time"] == "1795176000"
    assert (await imports.client("page")).secret is None


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


async def test_a_known_client_keeps_id_and_secret_unless_in_the_file(
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


async def test_service_accounts_get_roles_of_the_file_at_creation_only(
    imports: Imports,
) -> None:
    account = {"username": "service-account-robot", "serviceAccountClientId": "Robot"}
    await imports.run(changed(users=[{**account, "realmRoles": ["worker"]}]))
    granted = (await imports.roles("service-account-robot")).realm
    assert granted == ("worker",)
    await imports.run(changed(users=[{**account, "realmRoles": ["boss"]}]))
    assert (await imports.roles("service-account-robot")).realm == granted


async def test_a_service_account_is_named_after_its_client(imports: Imports) -> None:
    stranger = {"username": "alice", "serviceAccountClientId": "Robot"}
    await imports.run(changed(users=[stranger]))
    account = await imports.user("service-account-robot")
    assert account.service_account_client == (await imports.client("Robot")).id


async def test_a_known_client_gains_what_its_new_settings_call_for(imports: Imports) -> None:
    await imports.run(ACME)
    settings = {"clientId": "page", "publicClient": False, "serviceAccountsEnabled": True}
    await imports.run(changed(clients=[settings]))
    page = await imports.client("page")
    assert page.secret is not None
    assert "service_account" in page.default_client_scopes
    assert (await imports.user("service-account-page")).service_account_client == page.id


async def test_composites_are_added_to_and_never_taken_away(imports: Imports) -> None:
    await imports.run(ACME)
    roles = {"realm": [{"name": "boss", "composites": {"realm": ["offline_access"]}}]}
    await imports.run(changed(roles=roles))
    assert (await imports.roles("alice")).realm == ("boss", "offline_access", "worker")


class WritingMeanwhile(PooledPasswordHasher):
    """Lets somebody else write to the database while a password is hashed."""

    def __init__(self, database: SqlDatabase) -> None:
        super().__init__(1)
        self.database = database
        self.hashed: list[str] = []

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        """Write, then hash."""
        async with self.database.write() as stores:
            self.hashed.append(password.reveal())
            if await stores.realms.find_by_name("meanwhile") is None:
                await stores.realms.add(Realm(id="meanwhile", name="meanwhile"))
        return await super().hash(
            password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
        )


async def test_others_may_write_while_an_import_hashes_passwords(imports: Imports) -> None:
    """SQLite has one writer: revocations were refused for as long as an import hashed."""
    imports.passwords = WritingMeanwhile(imports.database)
    await imports.run(ACME)
    assert await imports.password_is("alice", "alice-canary")
    await imports.run(ACME)
    assert imports.passwords.hashed == ["alice-canary", "bob-canary"]
    imports.passwords.close()


async def test_two_users_of_one_password_share_no_salt(imports: Imports) -> None:
    same = [{"value": "one-canary"}]
    users = [{"username": name, "credentials": same} for name in ("alice", "bob")]
    await imports.run(changed(users=users))
    async with imports.database.read() as stores:
        found = [
            (await stores.users.credentials("acme", user.id))[0].secret_data
            for user in (await imports.user("alice"), await imports.user("bob"))
        ]
    assert found[0] != found[1]


async def test_a_realm_updated_by_an_earlier_file_uses_the_new_policy(
    imports: Imports,
) -> None:
    """What was hashed ahead is taken only where the policy is still the same."""
    policy = {"realm": "acme", **ELLIPTIC, "passwordPolicy": "hashAlgorithm(pbkdf2-sha256)"}
    policy["passwordPolicy"] += " and hashIterations(1000)"
    await imports.run(policy, ACME)
    alice = await imports.user("alice")
    async with imports.database.read() as stores:
        (credential,) = await stores.users.credentials("acme", alice.id)
    assert json.loads(credential.credential_data)["hashIterations"] == 1000
    assert await imports.password_is("alice", "alice-canary")


@pytest.mark.parametrize("roles", [[], "", 0, False])
async def test_roles_of_another_shape_are_refused_when_empty_too(
    imports: Imports, roles: object
) -> None:
    assert (await imports.refused(changed(roles=roles))).keys() == {"0.json: roles"}


async def test_a_part_that_is_null_brings_no_roles(imports: Imports) -> None:
    await imports.run({"realm": "null", **ELLIPTIC, "roles": None})
    await imports.run({"realm": "nulls", **ELLIPTIC, "roles": {"realm": None, "client": None}})


async def test_another_default_algorithm_brings_its_key(imports: Imports) -> None:
    await imports.run(ACME)
    await imports.run({"realm": "acme", "default_signature_algorithm": "EdDSA"})
    assert await imports.algorithms() == [SignatureAlgorithm.ES256, SignatureAlgorithm.EDDSA]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"clients": {}}, "clients"),
        ({"clients": ["x"]}, "clients[0]"),
        ({"clients": [{"clientId": "x"}, {"clientId": "x"}]}, "clients"),
        ({"users": 5}, "users"),
        (one_user(credentials=[{"value": []}]), "users[0].credentials[0].value"),
        (one_user(serviceAccountClientId=[]), "users[0].serviceAccountClientId"),
        (one_user(clientRoles={"no": ["r"]}), "users[0].clientRoles.no"),
        (one_user(clientRoles={"nobody": ["r"]}), "users[0].clientRoles.nobody"),
        ({"roles": {"client": {"nobody": [{"name": "r"}]}}}, "roles.client.nobody[0]"),
        (
            {"roles": {"realm": [{"name": "a", "composites": {"realm": ["b"]}}]}},
            "roles.realm[0].composites.realm",
        ),
    ],
)
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


async def test_an_attribute_with_a_secret_is_reported_and_not_imported(imports: Imports) -> None:
    attributes = {"saml.signing.private.key": "canary", "saml.signing.certificate": "MIIC"}
    robot = {"clientId": "Robot", "attributes": attributes}
    (done,) = await imports.run(changed(clients=[robot, {"clientId": "page"}]))
    assert done.not_imported == ("clients.attributes.saml.signing.private.key",)
    assert "saml.signing.private.key" not in (await imports.client("Robot")).attributes


async def test_a_rotated_secret_is_imported(imports: Imports) -> None:
    robot = {"clientId": "Robot", "attributes": {"client.secret.rotated": "canary"}}
    (done,) = await imports.run(changed(clients=[robot, {"clientId": "page"}]))
    assert done.not_imported == ()
    assert (await imports.client("Robot")).rotated_secret == Secret("canary")


async def test_what_is_not_imported_is_named(imports: Imports) -> None:
    document = {"realm": "acme", **ELLIPTIC, "protocolMappers": [{"name": "g"}], "components": {}}
    (done,) = await imports.run(document)
    assert done.not_imported == ("protocolMappers",)


async def test_a_lost_message_is_told_and_the_realm_is_stored(imports: Imports) -> None:
    imports.messages.away = True
    (done,) = await imports.run(ACME)
    assert done.announced is False
    assert await imports.realm_text("acme") is not None


async def test_the_reference_configuration_round_trips_unchanged(
    imports: Imports,
) -> None:
    (file,) = load_realm_files([REFERENCE_REALMS], {})
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
