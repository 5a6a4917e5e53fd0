"""Protected sites over the admin API: rights, uniqueness of hosts, events, realm files."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.made_realms import exported, make

BAD, FORBIDDEN, MISSING, CONFLICT, CHANGED = 400, 403, 404, 409, 412
SITES = "guard/sites"
OTHER = "beside-sites"


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    roles = {"viewer": ["view-realm"], "manager": ["manage-realm"], "people": ["manage-users"]}
    with administered_realm(administration, "of-sites", roles) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_sites(realm: AdministeredRealm) -> Iterator[None]:
    yield
    for each in realm.get(SITES):
        realm.change("DELETE", f"{SITES}/{each['name']}")


def site(name: str = "wiki", *hosts: str, **fields: Any) -> dict[str, Any]:
    rules = [
        {"name": "admin", "paths": ["/admin/*"], "realmRoles": ["admin"]},
        {"name": "rest", "paths": ["/*"], "anonymous": True},
    ]
    return {"name": name, "hosts": list(hosts or (f"{name}.example.org",)), "rules": rules} | fields


def test_a_site_is_created_read_replaced_and_deleted(realm: AdministeredRealm) -> None:
    assert realm.change("POST", SITES, site()) == "wiki"
    assert realm.get(f"{SITES}/wiki") == site()
    realm.change("POST", SITES, site("api"))
    assert realm.get(SITES) == [site("api"), site()]

    replaced = site("wiki", "docs.example.org", client="wiki")
    realm.change("PUT", f"{SITES}/wiki", replaced)
    assert realm.get(f"{SITES}/wiki") == replaced
    nameless = {name: value for name, value in site().items() if name != "name"}
    realm.change("PUT", f"{SITES}/wiki", nameless)
    assert realm.get(f"{SITES}/wiki") == site()

    realm.change("DELETE", f"{SITES}/wiki")
    assert realm.get(SITES) == [site("api")]


def test_what_is_not_there_is_not_found(realm: AdministeredRealm) -> None:
    missing = (MISSING, {"error": "Site not found"})
    assert realm.refused("GET", f"{SITES}/none") == missing
    assert realm.refused("PUT", f"{SITES}/none", site("none")) == missing
    assert realm.refused("DELETE", f"{SITES}/none") == missing


def test_all_errors_are_reported_and_nothing_is_stored(realm: AdministeredRealm) -> None:
    wrong = site(hosts=["*"], realms=["master"])
    status, answer = realm.refused("POST", SITES, wrong)
    assert status == BAD
    assert answer["errorMessage"].startswith("realms: a site has no such field; hosts[0]: ")
    hidden = site() | {"rules": list(reversed(site()["rules"]))}
    status, answer = realm.refused("POST", SITES, hidden)
    assert (status, "no request reaches it" in answer["errorMessage"]) == (BAD, True)
    assert realm.get(SITES) == []


def test_a_name_and_a_host_belong_to_one_site_of_all_realms(
    realm: AdministeredRealm, administration: Administration
) -> None:
    realm.change("POST", SITES, site())
    taken = "Host wiki.example.org belongs to another site"
    answer = realm.refused("POST", SITES, site("wiki", "other.example.org"))
    assert answer == (CONFLICT, {"errorMessage": "Site wiki already exists"})
    answer = realm.refused("POST", SITES, site("second", "Wiki.example.org:443"))
    assert answer == (CONFLICT, {"errorMessage": taken})
    realm.change("POST", SITES, site("second"))
    answer = realm.refused("PUT", f"{SITES}/second", site("second", "wiki.example.org"))
    assert answer == (CONFLICT, {"errorMessage": taken})

    make(administration, OTHER)
    other = AdministeredRealm(administration, OTHER)
    assert other.refused("POST", SITES, site()) == (CONFLICT, {"errorMessage": taken})
    realm.change("DELETE", f"{SITES}/wiki")
    other.change("POST", SITES, site())
    administration.ask("DELETE", OTHER)
    realm.change("POST", SITES, site())


def test_a_site_keeps_its_name(realm: AdministeredRealm) -> None:
    realm.change("POST", SITES, site())
    answer = realm.refused("PUT", f"{SITES}/wiki", site("other", "wiki.example.org"))
    assert answer == (BAD, {"errorMessage": "The name of a site cannot be changed"})


def _store_as_later_version(realm: AdministeredRealm, name: str) -> None:
    """Put a member into a stored site that this version does not know."""
    database = realm.administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "UPDATE sites SET document = json_set(document, '$.later', 1) WHERE name = ?", (name,)
        )


def test_a_site_of_a_later_version_can_be_listed_and_replaced(
    realm: AdministeredRealm,
) -> None:
    for name in ("api", "wiki"):
        realm.change("POST", SITES, site(name))
    _store_as_later_version(realm, "api")
    unreadable = realm.get(f"{SITES}/api")
    assert unreadable.keys() == {"name", "unreadable"}
    assert "later" in unreadable["unreadable"]
    assert realm.get(SITES) == [unreadable, site()]
    taken = (CONFLICT, {"errorMessage": "Site api already exists"})
    assert realm.refused("POST", SITES, site("api")) == taken
    realm.change("PUT", f"{SITES}/api", site("api"))
    assert realm.get(SITES) == [site("api"), site()]
    _store_as_later_version(realm, "api")
    realm.change("DELETE", f"{SITES}/api")
    assert realm.get(SITES) == [site()]
    realm.change("POST", SITES, site("other", "api.example.org"))


def test_a_client_that_cannot_sign_browsers_in_is_refused(realm: AdministeredRealm) -> None:
    attributes = {"exclude.issuer.from.auth.response": "true"}
    client = {"clientId": "silent", "attributes": attributes}
    realm.change("POST", SITES, site(client="silent"))
    realm.change("POST", "clients", client)
    reason = "exclude.issuer.from.auth.response is true, but sites require iss"
    refused = (BAD, {"errorMessage": f"Client silent cannot sign browsers in: {reason}"})
    assert realm.refused("PUT", f"{SITES}/wiki", site(client="silent")) == refused
    assert realm.refused("POST", SITES, site("other", client="silent")) == refused
    realm.change("PUT", f"{SITES}/wiki", site())


def test_a_change_since_it_was_read_refuses(realm: AdministeredRealm) -> None:
    realm.change("POST", SITES, site())
    tag = realm.ask("GET", f"{SITES}/wiki").headers["etag"]
    realm.change("PUT", f"{SITES}/wiki", site("wiki", "docs.example.org"))
    for method in ("PUT", "DELETE"):
        answer = realm.ask(method, f"{SITES}/wiki", site(), If_Match=tag)
        assert answer.status_code == CHANGED


@pytest.mark.parametrize(
    ("by", "may_view", "may_manage"),
    [("viewer", True, False), ("manager", True, True), ("people", False, False)],
)
def test_rights_are_those_of_the_realm(
    realm: AdministeredRealm, by: str, *, may_view: bool, may_manage: bool
) -> None:
    realm.change("POST", SITES, site())
    asked = [realm.ask("GET", path, by=by) for path in (SITES, f"{SITES}/wiki")]
    assert {answer.is_success for answer in asked} == {may_view}
    changes = [
        realm.ask("POST", SITES, site("new"), by=by),
        realm.ask("PUT", f"{SITES}/wiki", site(), by=by),
        realm.ask("DELETE", f"{SITES}/wiki", by=by),
    ]
    assert [answer.is_success for answer in changes] == [may_manage] * 3
    refused = [answer for answer in (*asked, *changes) if not answer.is_success]
    assert {answer.status_code for answer in refused} <= {FORBIDDEN}


def test_changes_are_recorded(realm: AdministeredRealm) -> None:
    realm.change("POST", SITES, site())
    realm.change("PUT", f"{SITES}/wiki", site(client="wiki"))
    realm.change("DELETE", f"{SITES}/wiki")
    found = [event for event in realm.events() if event[1] == "CUSTOM"]
    assert found[-3:] == [
        ("CREATE", "CUSTOM", f"{SITES}/wiki", site()),
        ("UPDATE", "CUSTOM", f"{SITES}/wiki", site(client="wiki")),
        ("DELETE", "CUSTOM", f"{SITES}/wiki", site(client="wiki")),
    ]


def test_sites_go_with_a_realm_into_a_file_and_come_back(
    administration: Administration, tmp_path: Path
) -> None:
    make(administration, OTHER, guardSites=[site()])
    document = exported(administration, OTHER)
    assert document["guardSites"] == [site()]
    administration.ask("DELETE", OTHER)
    file = tmp_path / "realm.json"
    file.write_text(json.dumps(document))
    administration.command("realm", "import", str(file))
    assert exported(administration, OTHER)["guardSites"] == [site()]

    changed = site("wiki", "docs.example.org")
    file.write_text(json.dumps({"realm": OTHER, "guardSites": [site("api"), changed]}))
    administration.command("realm", "import", str(file))
    assert exported(administration, OTHER)["guardSites"] == [site("api"), changed]
    administration.ask("DELETE", OTHER)


def test_a_realm_file_opens_no_site_and_closes_none(
    administration: Administration, tmp_path: Path
) -> None:
    """Without `bearerAudience`, a new site expects its audience and another keeps its choice."""
    make(administration, OTHER, guardSites=[site(), site("api", bearerAudience="any")])
    file = tmp_path / "realm.json"
    file.write_text(json.dumps({"realm": OTHER, "guardSites": [site(), site("api"), site("new")]}))
    administration.command("realm", "import", str(file))
    found = exported(administration, OTHER)["guardSites"]
    assert found == [site("api", bearerAudience="any"), site("new"), site()]
    administration.ask("DELETE", OTHER)


def test_a_realm_file_with_a_host_of_another_realm_is_refused(
    realm: AdministeredRealm, administration: Administration, tmp_path: Path
) -> None:
    realm.change("POST", SITES, site())
    file = tmp_path / "realm.json"
    file.write_text(json.dumps({"realm": OTHER, "guardSites": [site()]}))
    done = administration.command("realm", "import", str(file))
    assert done.exit_code == 2
    assert "Host wiki.example.org belongs to another site" in done.output
    assert administration.ask("GET", OTHER).status_code == MISSING


def test_an_update_of_the_realm_does_not_touch_its_sites(realm: AdministeredRealm) -> None:
    realm.change("POST", SITES, site())
    realm.change("PUT", "", {"displayName": "x", "guardSites": []})
    assert realm.get(SITES) == [site()]
    assert "guardSites" not in realm.get("")
