"""Keys and client registration policies of a realm file: both databases. Keycloak: realm import."""

import json
from typing import Any

from gateway.admin.registration import realm_policies
from gateway.domain.keys import KeyStatus
from gateway.representations.components import Component
from tests.support.realm_imports import Imports, changed
from tests.support.realm_texts import export_realm

KEYS = "org.keycloak.keys.KeyProvider"
POLICIES = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"


def key(name: str, provider: str, **config: str) -> dict[str, Any]:
    values = {setting: [text] for setting, text in config.items()}
    return {"name": name, "providerId": provider, "subComponents": {}, "config": values}


def policy(name: str, provider: str, who: str = "anonymous", **config: str) -> dict[str, Any]:
    return {**key(name, provider, **config), "subType": who}


async def policies(imports: Imports) -> dict[str, Component]:
    async with imports.database.read() as stores:
        return {str(each.name): each for each in await realm_policies(stores, "acme")}


async def active(imports: Imports) -> dict[str, int]:
    """Return the priority of the active key of each algorithm."""
    async with imports.database.read() as stores:
        keys = await stores.keys.list_keys("acme")
    return {str(each.algorithm): each.priority for each in keys if each.status is KeyStatus.ACTIVE}


async def test_keys_of_a_file_take_the_place_of_those_of_a_new_realm(imports: Imports) -> None:
    listed = [
        key("own", "ecdsa-generated", priority="70"),
        key("hmac", "hmac-generated", priority="60", algorithm="HS256"),
        key("aes", "aes-generated", priority="50", secretSize="32"),
    ]
    (done,) = await imports.run(changed(components={KEYS: listed}))
    assert done.not_imported == ()
    # What refresh tokens need is there in any case; no key is for RSA-OAEP.
    assert await active(imports) == {"ES256": 70, "HS256": 60, "AES": 50, "HS512": 100}


async def test_a_file_without_keys_gets_those_of_a_new_realm(imports: Imports) -> None:
    await imports.run(
        changed(components={POLICIES: [policy("few", "max-clients", **{"max-clients": "9"})]})
    )
    assert await active(imports) == {"ES256": 100, "HS512": 100, "RSA-OAEP": 100, "AES": 100}
    assert set(await policies(imports)) == {"few"}


async def test_a_file_imported_again_changes_no_key_and_sets_policies(imports: Imports) -> None:
    await imports.run(changed())
    before = json.loads(await export_realm(imports.database, "acme"))
    components = before["components"]
    components[KEYS].append(key("more", "hmac-generated", priority="5", algorithm="HS384"))
    (limit,) = (each for each in components[POLICIES] if each["providerId"] == "max-clients")
    limit["config"] = {"max-clients": ["3"]}
    await imports.run(before)
    after = json.loads(await export_realm(imports.database, "acme"))["components"]
    added = [each for each in after[KEYS] if each["name"] == "more"]
    assert [each for each in after[KEYS] if each not in added] == components[KEYS][:-1]
    assert len(added) == 1
    assert after[POLICIES] == components[POLICIES]


async def test_what_cannot_be_used_refuses_the_file(imports: Imports) -> None:
    wrong = {KEYS: [key("short", "aes-generated", secretSize="7")]}
    refused = await imports.refused(changed(components=wrong))
    assert [path.partition(": ")[2] for path in refused] == [f"components.{KEYS}[short]"]
    wrong = {POLICIES: [policy("many", "max-clients", **{"max-clients": "x"})]}
    assert list(await imports.refused(changed(components=wrong)))
    many = {KEYS: [key(str(number), "aes-generated") for number in range(51)]}
    assert list(await imports.refused(changed(components=many)))
    assert await imports.realm_text("acme") is None


async def test_components_that_are_not_read_are_reported(imports: Imports) -> None:
    listed = [key("store", "java-keystore"), key("made", "aes-generated")]
    (done,) = await imports.run(changed(components={KEYS: listed}))
    assert done.not_imported == ("components",)
    assert "AES" in await active(imports)
