"""The commands that mend a site: they run as they are printed, whatever the names in them."""

import json
import shlex
from typing import Any

import pytest

from gateway.admin.site_findings import SiteCheck, SiteProblem, find_site_problems
from gateway.domain.forward_auth import Site
from gateway.representations.sites import parse_site
from tests.support.realm_imports import ELLIPTIC, Imports

NAME = "x; touch 'a' $(b) \"c\""
URL = "https://gateway.test"
REALM: dict[str, Any] = {"realm": "office", "enabled": True, **ELLIPTIC}


def site(realm: str, client: str, **rule: Any) -> Site:
    rules = [{"name": "all", "paths": ["/*"], **rule}]
    document = {"name": "wiki", "hosts": ["wiki.test"], "client": client, "rules": rules}
    return parse_site(document, realm=realm)


async def problems(imports: Imports, site: Site) -> tuple[SiteProblem, ...]:
    async with imports.database.read() as stores:
        return await find_site_problems(stores, site, URL)


def words(problem: SiteProblem) -> list[str]:
    """Return the words that a shell makes of the command; text after it is not part of it."""
    return shlex.split(problem.remedy.partition(", or ")[0])


async def test_every_name_of_a_command_is_one_word(imports: Imports) -> None:
    realm = "office park"
    await imports.run({**REALM, "realm": realm})
    required = {
        "realmRoles": NAME,
        "clientRoles": f"app/{NAME}",
        "groups": f"/{NAME}",
        "clients": NAME,
    }
    for kind, name in required.items():
        rule = {kind: [name], "accepts": ["bearer"]}
        (missing,) = await problems(imports, site(realm, NAME, **rule))
        command = words(missing)
        assert command[2:] == ["create", name, "--realm", realm]
    (missing,) = await problems(imports, site(realm, NAME))
    command = words(missing)
    assert command[:6] == ["realmgate", "client", "create", NAME, "--realm", realm]
    assert command[6:] == ["--set", 'redirectUris=["https://wiki.test/.realmgate/callback"]']


async def test_redirect_uris_with_quotes_stay_one_field(imports: Imports) -> None:
    kept = "https://wiki.test/it's"
    client = {"clientId": NAME, "redirectUris": [kept]}
    await imports.run({**REALM, "clients": [client]})
    (found,) = await problems(imports, site("office", NAME))
    *before, field = words(found)
    assert before == ["realmgate", "client", "update", NAME, "--realm", "office", "--set"]
    uris = [kept, "https://wiki.test/.realmgate/callback"]
    assert json.loads(field.removeprefix("redirectUris=")) == uris


@pytest.mark.parametrize(
    "unusable",
    [
        {"enabled": False},
        {"standardFlowEnabled": False},
        {"attributes": {"pkce.code.challenge.method": "plain"}},
        {"attributes": {"exclude.issuer.from.auth.response": "true"}},
        {"attributes": {"request.object.required": "request only"}},
        {"attributes": {"request.object.required": "request or request_uri"}},
    ],
)
async def test_the_field_of_a_remedy_makes_the_client_usable(
    imports: Imports, unusable: dict[str, Any]
) -> None:
    uris = ["https://wiki.test/.realmgate/callback"]
    client = {"clientId": "wiki", "redirectUris": uris, **unusable}
    await imports.run({**REALM, "clients": [client]})
    (found,) = await problems(imports, site("office", "wiki"))
    assert found.check is SiteCheck.CLIENT
    *_, option, field = words(found)
    name, _, value = field.partition("=")
    assert option == "--set"
    await imports.run({**REALM, "clients": [{"clientId": "wiki", name: json.loads(value)}]})
    assert await problems(imports, site("office", "wiki")) == ()
