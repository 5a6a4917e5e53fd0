"""What an export shows, and the first administrator. Keycloak: realm export, KC_BOOTSTRAP_ADMIN."""

import json

import pytest

from gateway.admin.realm_export import export_realm
from gateway.domain.errors import RealmNotFound
from gateway.domain.keys import SignatureAlgorithm
from tests.support.realm_imports import ACME, ELLIPTIC, Imports, changed


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
