"""A host name belongs to one realm, whatever the port, and the rules file reserves it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration, master
from tests.support.gateway_process import start_gateway
from tests.support.made_realms import make

CREATED, CONFLICT, MISSING = 201, 409, 404
SITES = "guard/sites"
RESERVED = """
[[sites]]
name = "reserved"
hosts = ["intranet.example.net:8443", "*.apps.example.net"]
realms = ["master"]
rules = [{ name = "all", paths = ["/*"] }]
"""
COLLIDING = [
    ("app.example.org", "app.example.org"),
    ("app.example.org", "app.example.org:1"),
    ("app.example.org:8443", "APP.example.org:443"),
    ("app.example.org:1", "app.example.org:2"),
    ("*.example.org", "app.example.org"),
    ("*.example.org", "app.example.org:8443"),
    ("*.example.org:8443", "app.example.org"),
    ("*.example.org", "a.b.example.org"),
    ("*.example.org", "*.example.org:1"),
    ("*.example.org", "*.b.example.org"),
    ("192.0.2.7", "192.0.2.7:8443"),
    ("[2001:db8::1]", "[2001:DB8::1]:8443"),
    ("xn--bcher-kva.example.org", "XN--BCHER-KVA.example.org:1"),
]
APART = [
    ("app.example.org", "app.example.com"),
    ("*.example.org", "example.org"),
    ("*.example.org", "app.badexample.org"),
    ("*.a.example.org", "*.b.example.org"),
    ("*.a.example.org", "a.example.org"),
    ("192.0.2.7", "192.0.2.8"),
]


@pytest.fixture(scope="module")
def administration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Administration]:
    """Run a gateway with a rules file."""
    folder = tmp_path_factory.mktemp("hosts-of-realms")
    (folder / "rules.toml").write_text(RESERVED)
    (folder / "realms.json").write_text(json.dumps([master()]))
    with (
        start_gateway(
            folder, import_realm=folder / "realms.json", guard_file=folder / "rules.toml"
        ) as gateway,
        gateway.client() as http,
    ):
        yield Administration(gateway, http)


@pytest.fixture(scope="module")
def realms(administration: Administration) -> Iterator[tuple[AdministeredRealm, AdministeredRealm]]:
    """Return two realms."""
    with ExitStack() as stack:
        made = [
            stack.enter_context(administered_realm(administration, name, {"m": ["manage-realm"]}))
            for name in ("first", "second")
        ]
        yield made[0], made[1]


@pytest.fixture(autouse=True)
def _no_sites(realms: tuple[AdministeredRealm, AdministeredRealm]) -> Iterator[None]:
    yield
    for realm in realms:
        for each in realm.get(SITES):
            realm.change("DELETE", f"{SITES}/{each['name']}")


def site(name: str, *hosts: str) -> dict[str, Any]:
    rules = [{"name": "all", "paths": ["/*"], "anonymous": True}]
    return {"name": name, "hosts": list(hosts), "rules": rules}


def _command(administration: Administration, *arguments: str) -> Result:
    """Run a command beside the gateway, with its rules file."""
    folder = administration.gateway.state_dir
    file = folder.parent / "rules.toml"
    environment = {"REALMGATE_STATE_DIR": str(folder), "REALMGATE_GUARD_FILE": str(file)}
    return CliRunner(env=environment).invoke(main, arguments)


def _create(realm: AdministeredRealm, *hosts: str, name: str = "taking") -> int:
    return realm.ask("POST", SITES, site(name, *hosts), by="m").status_code


def test_a_host_name_is_not_that_of_a_second_realm(
    realms: tuple[AdministeredRealm, AdministeredRealm],
) -> None:
    for one, other in [*COLLIDING, *((b, a) for a, b in COLLIDING)]:
        first, second = realms
        assert _create(first, one) == CREATED, one
        assert _create(second, "free.example.com", other) == CONFLICT, (one, other)
        assert _create(second, "free.example.com") == CREATED
        taking = site("taking", "free.example.com", other)
        replaced = second.ask("PUT", f"{SITES}/taking", taking, by="m")
        assert replaced.status_code == CONFLICT, (one, other)
        assert "belongs to another" in replaced.json()["errorMessage"]
        assert second.get(f"{SITES}/taking") == site("taking", "free.example.com")
        for realm in realms:
            realm.change("DELETE", f"{SITES}/taking")


def test_other_names_are_free_and_a_realm_may_hold_a_name_twice(
    realms: tuple[AdministeredRealm, AdministeredRealm],
) -> None:
    for one, other in [*APART, *((b, a) for a, b in APART)]:
        assert [_create(realms[0], one), _create(realms[1], other)] == [CREATED] * 2, (one, other)
        for realm in realms:
            realm.change("DELETE", f"{SITES}/taking")
    for number, host in enumerate(("*.example.org", "a.example.org", "a.example.org:8443")):
        assert _create(realms[0], host, name=f"own-{number}") == CREATED
    assert _create(realms[0], "A.example.org:443", name="own-9") == CONFLICT


def test_the_rules_file_reserves_its_names_for_all_ports(
    realms: tuple[AdministeredRealm, AdministeredRealm], tmp_path: Path
) -> None:
    realm = realms[0]
    assert _create(realm, "free.example.net") == CREATED
    for host in (
        *("intranet.example.net:8443", "intranet.example.net", "Intranet.example.net:1"),
        *("*.example.net", "*.example.net:7", "a.apps.example.net", "a.b.apps.example.net:1"),
        *("*.apps.example.net", "*.b.apps.example.net"),
    ):
        refused = realm.ask("POST", SITES, site("other", host), by="m")
        assert refused.status_code == CONFLICT, host
        assert "rules file" in refused.json()["errorMessage"]
        taking = site("taking", "free.example.net", host)
        assert realm.ask("PUT", f"{SITES}/taking", taking, by="m").status_code == CONFLICT, host
        file = tmp_path / "realm.json"
        file.write_text(json.dumps({"realm": "from-file", "guardSites": [site("in-file", host)]}))
        done = _command(realm.administration, "realm", "import", str(file))
        assert (done.exit_code, "rules file" in done.output) == (2, True), host
        file.write_text(json.dumps(site("by-command", host)))
        done = _command(realm.administration, "guard", "set", str(file), "--realm", "first")
        assert (done.exit_code, "rules file" in done.output) == (1, True), host
    assert realm.administration.ask("GET", "from-file").status_code == MISSING


def test_a_realm_file_takes_no_name_of_another_realm(
    realms: tuple[AdministeredRealm, AdministeredRealm], tmp_path: Path
) -> None:
    administration, file = realms[0].administration, tmp_path / "realm.json"
    for one, other in COLLIDING:
        assert _create(realms[0], one) == CREATED
        file.write_text(json.dumps({"realm": "from-file", "guardSites": [site("in-file", other)]}))
        done = _command(administration, "realm", "import", str(file))
        assert (done.exit_code, "belongs to another" in done.output) == (2, True), (one, other)
        assert administration.ask("GET", "from-file").status_code == MISSING
        document = {"realm": "from-file", "guardSites": [site("in-file", other)]}
        answer = administration.ask("POST", "", document=document)
        assert answer.status_code == CONFLICT, answer.text
        realms[0].change("DELETE", f"{SITES}/taking")
    make(administration, "from-file", guardSites=[site("in-file", "a.example.org")])
    assert _create(realms[0], "a.example.org:1") == CONFLICT
    assert administration.ask("DELETE", "from-file").is_success


def test_of_two_administrators_at_once_one_gets_the_name(
    realms: tuple[AdministeredRealm, AdministeredRealm],
) -> None:
    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            one, other = COLLIDING[number % len(COLLIDING)]
            statuses = list(pool.map(_create, realms, (one, other)))
            assert sorted(statuses) == [CREATED, CONFLICT], (one, other)
            for realm in realms:
                realm.ask("DELETE", f"{SITES}/taking")
