"""The user profile of a realm file takes the place of the realm's: both databases."""

import json
from collections.abc import Mapping
from typing import Any

from gateway.authentication.realm_profile import profile_document
from gateway.domain.ports.invalidation import realm_topic
from gateway.representations.realm_files import render_components
from gateway.representations.stored_user_profile import (
    PROFILE_TYPE,
    StoredProfile,
    profile_component,
)
from gateway.representations.user_profile import standard_user_profile
from tests.support.realm_imports import Imports
from tests.support.realm_texts import export_realm

ACME = {"realm": "acme", "defaultSignatureAlgorithm": "ES256"}


def profiled(scope: str = "", **attribute: object) -> dict[str, Any]:
    """Return a realm file whose profile names one attribute more."""
    profile = standard_user_profile()
    selector = {"selector": {"scopes": [scope]}} if scope else {}
    profile["attributes"].append({"name": "badge", **selector, "multivalued": False, **attribute})
    component = profile_component("acme", StoredProfile("", profile))
    return {**ACME, "components": render_components([component])}


async def stored(imports: Imports) -> Mapping[str, Any]:
    async with imports.database.read() as stores:
        realm = await stores.realms.find_by_name("acme")
        assert realm is not None
        return await profile_document(stores, realm)


async def names(imports: Imports) -> list[str]:
    return [attribute["name"] for attribute in (await stored(imports))["attributes"]]


async def test_a_profile_is_stored_with_new_and_known_realms(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    await imports.run(profiled())
    assert (await names(imports))[-1] == "badge"
    await imports.run(profiled(name="desk"))
    assert (await names(imports))[-1] == "desk"


async def test_a_file_without_a_profile_leaves_the_realms_alone(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    await imports.run(profiled())
    await imports.run({**ACME, "displayName": "Acme"})
    assert (await names(imports))[-1] == "badge"


async def test_gateways_are_notified_of_changed_profiles_only(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    await imports.run(ACME)
    imports.messages.topics.clear()
    for _ in range(2):
        await imports.run(profiled())
    assert imports.messages.topics == [realm_topic("acme")]


async def test_an_export_has_the_stored_profile_or_none(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    await imports.run(ACME)
    assert (
        PROFILE_TYPE not in json.loads(await export_realm(imports.database, "acme"))["components"]
    )
    await imports.run(profiled())
    exported = await export_realm(imports.database, "acme")
    (component,) = json.loads(exported)["components"][PROFILE_TYPE]
    assert json.loads(component["config"]["kc.user.profile.config"][0]) == await stored(imports)
    await imports.run(json.loads(exported))
    assert await export_realm(imports.database, "acme") == exported


async def test_a_profile_may_name_only_client_scopes_of_the_realm(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    await imports.run(profiled("phone"))
    assert (await stored(imports))["attributes"][-1]["selector"] == {"scopes": ["phone"]}
    refused = await imports.refused(profiled("nothing"))
    assert list(refused.values()) == [
        "'selector.scopes' configuration for attribute 'badge' contains unsupported scope 'nothing'"
    ]
    assert (await stored(imports))["attributes"][-1]["selector"] == {"scopes": ["phone"]}


async def test_a_profile_that_cannot_be_used_refuses_the_file(imports_everywhere: Imports) -> None:
    refused = await imports_everywhere.refused(profiled(validations={"nope": {}}))
    assert list(refused.values()) == [
        "Validator 'nope' defined for attribute 'badge' doesn't exist"
    ]
    assert await imports_everywhere.realm_text("acme") is None


async def test_an_import_says_that_other_components_are_left_out(
    imports_everywhere: Imports,
) -> None:
    (one,) = await imports_everywhere.run(profiled())
    assert one.not_imported == ()
    users = {"org.keycloak.storage.UserStorageProvider": [{"providerId": "ldap"}]}
    (other,) = await imports_everywhere.run({**ACME, "components": users})
    assert other.not_imported == ("components",)
