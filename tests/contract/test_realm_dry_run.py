"""What an import would change is told beforehand, and nothing of it is stored."""

import copy
import json
from typing import Any

import pytest

from gateway.admin.realm_files.dry_run import Difference, ImportDryRun, RealmDifference, Sign
from gateway.admin.realm_files.files import RealmFile
from gateway.crypto.x509.reader import X509AuthorityParser
from gateway.domain.errors import InvalidInput
from gateway.password_policies import NO_BLACKLISTS
from tests.support.realm_imports import ACME, ELLIPTIC, Imports, changed
from tests.support.realm_texts import export_realm


async def dry_run(imports: Imports, *documents: Any) -> tuple[RealmDifference, ...]:
    importing = ImportDryRun(
        database=imports.database,
        keys=imports.keys,
        authorities=X509AuthorityParser(),
        clock=imports.clock,
        blacklists=NO_BLACKLISTS,
    )
    return await importing.run(
        [RealmFile(f"{index}.json", item) for index, item in enumerate(documents)]
    )


def told(difference: RealmDifference) -> set[tuple[str, str, str]]:
    return {(one.sign.value, one.what, one.field) for one in difference.changes}


async def text(imports: Imports) -> bytes:
    return await export_realm(imports.database, "acme", include_secrets=True)


async def test_a_new_realm_is_told_by_what_its_file_names(imports_everywhere: Imports) -> None:
    (found,) = await dry_run(imports_everywhere, ACME)
    assert (found.name, found.created, found.in_sync) == ("acme", True, False)
    assert told(found) == {
        ("~", "", "enabled"),
        ("~", "", "defaultSignatureAlgorithm"),
        ("+", "client Robot", ""),
        ("+", "client page", ""),
        ("+", "role boss", ""),
        ("+", "role worker", ""),
        ("+", "user alice", ""),
        ("+", "user bob", ""),
    }
    assert await imports_everywhere.realm_text("acme") is None
    assert imports_everywhere.messages.topics == []


async def test_what_was_imported_is_in_sync(imports_everywhere: Imports) -> None:
    await imports_everywhere.run(ACME)
    (found,) = await dry_run(imports_everywhere, ACME)
    assert (found.in_sync, found.created, found.changes) == (True, False, ())


async def test_an_export_is_in_sync_with_its_realm(imports: Imports) -> None:
    await imports.run(ACME)
    for secrets in (True, False):
        document = json.loads(await export_realm(imports.database, "acme", include_secrets=secrets))
        (found,) = await dry_run(imports, document)
        assert found.in_sync, found.changes


REALM: dict[str, Any] = changed(
    smtpServer={"host": "h", "password": "mail-canary"},
    groups=[{"name": "staff", "subGroups": [{"name": "berlin"}]}],
    clients=[{"clientId": "shop", "secret": "client-canary", "redirectUris": ["https://a.test"]}],
    clientScopes=[{"name": "teams"}],
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"accessTokenLifespan": 77}, {("~", "", "accessTokenLifespan")}),
        ({"access_token_lifespan": 77}, {("~", "", "accessTokenLifespan")}),
        ({"attributes": {"x": "y"}}, {("~", "", "attributes.x")}),
        ({"smtpServer": {"host": "h", "password": "new"}}, {("~", "", "smtpServer.password")}),
        (
            {"clients": [{"clientId": "shop", "redirectUris": [], "secret": "new"}]},
            {("~", "client shop", "redirectUris"), ("~", "client shop", "secret")},
        ),
        ({"clients": [{"clientId": "till"}]}, {("+", "client till", "")}),
        (
            {"roles": {"realm": [{"name": "boss", "description": "d"}]}},
            {("~", "role boss", "description")},
        ),
        (
            {"roles": {"client": {"shop": [{"name": "seller"}]}}},
            {("+", "role shop/seller", "")},
        ),
        (
            {"groups": [{"name": "staff", "subGroups": [{"name": "rome"}]}]},
            {("+", "group /staff/rome", "")},
        ),
        (
            {"clientScopes": [{"name": "teams", "description": "d"}]},
            {("~", "client scope teams", "description")},
        ),
        (
            {"defaultDefaultClientScopes": ["teams"]},
            {("~", "", "defaultDefaultClientScopes")},
        ),
        ({"users": [{"username": "Carl"}, {"username": "alice"}]}, {("+", "user carl", "")}),
        ({"clientTemplates": [1]}, set()),
    ],
)
async def test_each_change_is_told_by_its_field_and_made_by_the_import(
    imports: Imports, change: dict[str, Any], expected: set[tuple[str, str, str]]
) -> None:
    await imports.run(REALM)
    before = await text(imports)
    document = {"realm": "acme", **change}
    (found,) = await dry_run(imports, document)
    assert told(found) == expected
    assert await text(imports) == before
    await imports.run(document)
    assert (await text(imports) != before) is bool(expected)
    (again,) = await dry_run(imports, document)
    assert again.in_sync, again.changes


async def test_no_secret_is_told(imports: Imports) -> None:
    await imports.run(REALM)
    document = copy.deepcopy(REALM)
    document["smtpServer"]["password"] = "mail-kanarie"
    document["clients"][0]["secret"] = "client-kanarie"
    (found,) = await dry_run(imports, document)
    assert [change.is_secret for change in found.changes] == [True, True]
    shown = repr(found)
    for canary in ("canary", "kanarie"):
        assert canary not in shown


async def test_what_is_not_imported_is_named(imports: Imports) -> None:
    (found,) = await dry_run(imports, {"realm": "acme", **ELLIPTIC, "protocolMappers": [{}]})
    assert found.not_imported == ("protocolMappers",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"enabled": []},
        {"users": [{"username": "u", "clientRoles": {"nobody": ["r"]}}]},
        {"users": [{"username": "u", "groups": ["/nobody"]}]},
        {
            "passwordPolicy": "length(9)",
            "users": [{"username": "u", "credentials": [{"value": "x"}]}],
        },
        {"clients": [{"clientId": "a", "id": "1"}, {"clientId": "b", "id": "1"}]},
    ],
)
async def test_what_could_not_be_imported_is_refused(
    imports: Imports, wrong: dict[str, Any]
) -> None:
    document = {"realm": "acme", **ELLIPTIC, **wrong}
    with pytest.raises(InvalidInput) as refusal:
        await dry_run(imports, ACME | {"realm": "other", "id": "other"}, document)
    assert all(str(error).startswith("1.json") for error in refusal.value.errors)
    assert await imports.realm_text("other") is None


async def test_a_service_accounts_scopes_stay_as_the_file_has_them(imports: Imports) -> None:
    client = {
        "clientId": "robot",
        "serviceAccountsEnabled": True,
        "defaultClientScopes": ["profile"],
    }
    document = {"realm": "acme", **ELLIPTIC, "clients": [client]}
    await imports.run(document)
    assert (await imports.client("robot")).default_client_scopes == ("profile",)
    (found,) = await dry_run(imports, document)
    assert found.in_sync, found.changes


def test_a_difference_tells_whether_it_is_of_a_secret() -> None:
    assert not Difference(Sign.CHANGED, "", "a", 1, 2).is_secret
