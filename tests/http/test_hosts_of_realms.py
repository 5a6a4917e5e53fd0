"""A host name, and a cookie domain, belong to one realm, to the rules file or to the gateway."""

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration, master
from tests.support.gateway_process import start_gateway, until
from tests.support.made_realms import make

CREATED, CONFLICT, MISSING = 201, 409, 404
SITES = "guard/sites"
RESERVED = """
[[sites]]
name = "reserved"
hosts = ["intranet.example.net:8443", "*.apps.example.net"]
realms = ["master"]
rules = [{ name = "all", paths = ["/*"] }]

[[sites]]
name = "shared"
hosts = ["one.file.example"]
realms = ["master"]
client = "portal"
cookie_domain = "file.example"
rules = [{ name = "all", paths = ["/*"] }]
"""
GATEWAY: dict[str, Any] = {
    "public_url": "https://Id.gateway.example:8443/auth",
    "mtls_public_url": "https://[2001:db8::7]",
}
OF_GATEWAY = (
    *("id.gateway.example", "id.gateway.example:8443", "ID.gateway.example:443"),
    *("id.gateway.example:1", "*.gateway.example", "*.gateway.example:8443"),
    *("[2001:db8::7]", "[2001:DB8::7]:8443"),
)
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
            folder,
            import_realm=folder / "realms.json",
            guard_file=folder / "rules.toml",
            **GATEWAY,
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
    environment = {
        "REALMGATE_STATE_DIR": str(folder),
        "REALMGATE_GUARD_FILE": str(file),
        "REALMGATE_PUBLIC_URL": GATEWAY["public_url"],
        "REALMGATE_MTLS_PUBLIC_URL": GATEWAY["mtls_public_url"],
    }
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


def test_rules_file_and_gateway_reserve_hosts_for_all_ports(
    realms: tuple[AdministeredRealm, AdministeredRealm], tmp_path: Path
) -> None:
    realm = realms[0]
    assert _create(realm, "free.example.net", "other.gateway.example") == CREATED
    of_file = (
        *("intranet.example.net:8443", "intranet.example.net", "Intranet.example.net:1"),
        *("*.example.net", "*.example.net:7", "a.apps.example.net", "a.b.apps.example.net:1"),
        *("*.apps.example.net", "*.b.apps.example.net"),
    )
    for host in (*of_file, *OF_GATEWAY):
        reason = "rules file" if host in of_file else "belongs to the gateway"
        _refused_in_every_way(realm, tmp_path / "realm.json", reason, host)


def _refused_in_every_way(
    realm: AdministeredRealm, file: Path, reason: str, *hosts: str, **members: Any
) -> None:
    """Send a site by the admin API, as a new and a changed one, in a realm file, by commands."""
    sent = site("other", *hosts) | members
    refused = realm.ask("POST", SITES, sent, by="m")
    assert (refused.status_code, reason in refused.json()["errorMessage"]) == (CONFLICT, True), sent
    assert realm.ask("PUT", f"{SITES}/taking", sent | {"name": "taking"}).status_code == CONFLICT
    document = {"realm": "from-file", "guardSites": [sent]}
    refused = realm.administration.ask("POST", "", document=document)
    assert (refused.status_code, reason in refused.text) == (CONFLICT, True), sent
    realm.ask("POST", "partialImport", document | {"ifResourceExists": "OVERWRITE"}, by="m")
    assert [each["name"] for each in realm.get(SITES)] == ["taking"]
    file.write_text(json.dumps(document))
    done = _command(realm.administration, "realm", "import", str(file))
    assert (done.exit_code, reason in done.output) == (2, True), sent
    file.write_text(json.dumps(sent))
    done = _command(realm.administration, "guard", "set", str(file), "--realm", "first")
    assert (done.exit_code, reason in done.output) == (1, True), sent
    assert realm.administration.ask("GET", "from-file").status_code == MISSING


def test_a_cookie_domain_is_not_that_of_a_second_realm(
    realms: tuple[AdministeredRealm, AdministeredRealm], tmp_path: Path
) -> None:
    """The browsers of one realm would lose their sessions to the other."""
    first, second = realms
    portal = {"client": "portal", "cookieDomain": "x.example.com"}
    sent = site("held", "b.x.example.com") | portal
    assert second.ask("POST", SITES, sent, by="m").status_code == CREATED
    assert _create(first, "z.x.example.com") == CREATED, "without a cookie of the domain"
    for domain, host, reason in (
        ("x.example.com", "a.x.example.com", "another realm"),
        ("example.com", "a.x.example.com", "another realm"),
        ("a.x.example.com", "a.x.example.com", "another realm"),
        ("file.example", "two.file.example", "another realm"),
        ("two.file.example", "two.file.example", "another realm"),
    ):
        members = portal | {"cookieDomain": domain}
        file = tmp_path / "realm.json"
        _refused_in_every_way(first, file, f"{domain} belongs to {reason}", host, **members)
    for domain in ("y.example.com", "ax.example.com", "other.example"):
        sent = site("taking", f"a.{domain}") | portal | {"cookieDomain": domain}
        assert first.ask("PUT", f"{SITES}/taking", sent).is_success, domain
    for number, domain in enumerate(("x.example.com", "d.x.example.com")):
        sent = site(f"own-{number}", f"c{number}.{domain}") | portal | {"cookieDomain": domain}
        assert second.ask("POST", SITES, sent, by="m").status_code == CREATED, domain


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


@pytest.mark.parametrize("later", ["id.gateway.example", "*.gateway.example", "[2001:db8::7]:9"])
def test_a_site_of_before_does_not_keep_a_name_of_the_gateway(
    administration: Administration, later: str
) -> None:
    """The gateway got the name after the realm had stored the site, without the rule of today."""
    name = f"before-{OF_GATEWAY[0] == later}-{len(later)}".lower()
    asked = "id.gateway.example" if later.startswith("*") else later
    with administered_realm(administration, name, {}) as realm:
        rules = [{"name": "all", "paths": ["/*"], "anonymous": True}]
        site = {"name": "old", "hosts": ["a.old.test", "b.old.test"], "rules": rules}
        realm.change("POST", SITES, site)
        assert _decision(administration, "a.old.test") == 200
        database = administration.gateway.state_dir / "realmgate.db"
        with closing(sqlite3.connect(database)) as connection, connection:
            for table, column in (("sites", "document"), ("site_hosts", "host")):
                changed = connection.execute(
                    f"UPDATE {table} SET {column} = replace({column}, 'a.old.test', ?)",  # noqa: S608
                    (later,),
                )
                assert changed.rowcount > 0
        realm.change("PUT", "", {"displayName": "changed"})
        until(lambda: _decision(administration, "a.old.test") == 403, "the site is read again")
        assert _decision(administration, asked) == 403
        assert _decision(administration, "b.old.test") == 200


def _decision(administration: Administration, host: str) -> int:
    """Return the status of a decision for the server and host of a proxy."""
    headers = {
        "X-Original-Request": "GET / HTTP/1.1",
        "X-Forwarded-Host": host,
        "X-Forwarded-Proto": "https",
        "X-Realmgate-Server": host,
    }
    return administration.http.get("/.realmgate/guard/nginx", headers=headers).status_code
