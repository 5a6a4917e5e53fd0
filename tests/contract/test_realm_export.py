"""What an export shows, and the first administrator. Keycloak: realm export, KC_BOOTSTRAP_ADMIN."""

import json

import orjson
import pytest

from gateway.admin.realm_files import export
from gateway.domain.errors import RealmNotFound
from gateway.domain.keys import SignatureAlgorithm
from tests.support.realm_imports import ACME, ELLIPTIC, Imports, changed
from tests.support.realm_texts import export_realm


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


async def test_the_administrator_creates_a_missing_master_realm(
    imports: Imports,
) -> None:
    assert await imports.administrator("root", "canary")
    text = await imports.realm_text("master")
    assert text is not None
    assert json.loads(text)["enabled"] is True
    assert await imports.algorithms("master") == [SignatureAlgorithm.RS256]


@pytest.mark.parametrize("people", [0, 1, 7])
async def test_an_export_of_batched_users_is_canonical_json(
    imports_everywhere: Imports, monkeypatch: pytest.MonkeyPatch, people: int
) -> None:
    monkeypatch.setattr(export, "_BATCH", 3)
    users = [{"username": f"user-{number}", "attributes": {"a": ["1"]}} for number in range(people)]
    await imports_everywhere.run({"realm": "acme", **ELLIPTIC, "users": users})
    text = await export_realm(imports_everywhere.database, "acme")
    document = json.loads(text)
    assert [user["username"] for user in document["users"]] == [user["username"] for user in users]
    assert list(document)[-1] == "users"
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    assert text == orjson.dumps(document, option=option)
    again = await export_realm(imports_everywhere.database, "acme")
    assert again == text
