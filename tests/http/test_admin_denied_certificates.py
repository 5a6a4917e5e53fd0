"""The deny list of certificates over the admin API and the command line."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli import main
from tests.support.administered_realm import (
    AdministeredRealm,
    administered_realm,
    with_every_role_over_master,
)
from tests.support.administration import Administration
from tests.support.certificates import Zoo

BAD, FORBIDDEN, MISSING, CONFLICT = 400, 403, 404, 409
DENIED = "certificates/denied"
SHA256 = "ab" * 32
THUMBPRINT = "q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s"
SERIAL = {"issuer": "CN=Devices, O=Acme", "serial": "0x0A1b"}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    roles = {"viewer": ["view-realm"], "manager": ["manage-realm"], "people": ["manage-users"]}
    with administered_realm(administration, "of-denied", roles) as made:
        yield made


@pytest.fixture(autouse=True)
def _empty(realm: AdministeredRealm) -> Iterator[None]:
    yield
    for each in realm.get(DENIED):
        realm.change("DELETE", f"{DENIED}/{each['id']}")


def _without_times(entry: dict[str, Any]) -> dict[str, Any]:
    created = datetime.fromtimestamp(entry.pop("createdTimestamp") / 1000, UTC)
    assert abs((datetime.now(UTC) - created).total_seconds()) < 60
    return entry


def test_a_certificate_is_denied_shown_and_accepted_again(realm: AdministeredRealm) -> None:
    colons = ":".join(["AB"] * 32)
    assert realm.change("POST", DENIED, {"thumbprint": colons, "reason": "lost"}) == THUMBPRINT
    by_serial = realm.change("POST", DENIED, SERIAL)
    expected = {"id": THUMBPRINT, "thumbprint": THUMBPRINT, "reason": "lost"}
    assert _without_times(realm.get(f"{DENIED}/{THUMBPRINT}")) == expected
    named = {"id": by_serial, "issuer": "CN=Devices,O=Acme", "serial": "a1b"}
    assert [_without_times(each) for each in realm.get(DENIED)] == [expected, named]
    assert [each["id"] for each in realm.get(f"{DENIED}?first=1&max=1")] == [by_serial]
    for form in (SHA256, THUMBPRINT):
        answer = realm.refused("POST", DENIED, {"thumbprint": form})
        expected = {"errorMessage": "The certificate is on the deny list already"}
        assert answer == (CONFLICT, expected)
    realm.change("DELETE", f"{DENIED}/{THUMBPRINT}")
    missing = (MISSING, {"error": "Denied certificate not found"})
    assert realm.refused("DELETE", f"{DENIED}/{THUMBPRINT}") == missing
    assert realm.refused("GET", f"{DENIED}/{THUMBPRINT}") == missing
    event = realm.events()[-1]
    assert event[:3] == ("DELETE", "CUSTOM", f"{DENIED}/{THUMBPRINT}")
    assert event[3]["thumbprint"] == THUMBPRINT


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({}, "thumbprint alone, or issuer and serial"),
        ({"thumbprint": SHA256, **SERIAL}, "thumbprint alone, or issuer and serial"),
        ({"issuer": "CN=Devices"}, "thumbprint alone, or issuer and serial"),
        ({"thumbprint": SHA256[:-1]}, "64 hexadecimal digits"),
        ({"thumbprint": f"{THUMBPRINT[:-1]}t"}, "64 hexadecimal digits"),
        ({"thumbprint": 7}, "64 hexadecimal digits"),
        (SERIAL | {"serial": "0"}, "a positive serial number"),
        (SERIAL | {"serial": "1" * 41}, "a positive serial number"),
        (SERIAL | {"issuer": "Devices"}, "a distinguished name"),
        (SERIAL | {"issuer": ""}, "a distinguished name"),
        ({"thumbprint": SHA256, "expirationTimestamp": 1}, "a future instant"),
    ],
)
def test_what_names_no_certificate_is_refused(
    realm: AdministeredRealm, wrong: dict[str, Any], text: str
) -> None:
    status, answer = realm.refused("POST", DENIED, wrong)
    assert (status, text in answer["errorMessage"]) == (BAD, True), answer
    assert realm.get(DENIED) == []


def test_who_views_the_realm_lists_and_who_manages_it_changes(realm: AdministeredRealm) -> None:
    realm.change("POST", DENIED, {"thumbprint": SHA256}, by="manager")
    assert realm.ask("GET", DENIED, by="viewer").json()[0]["id"] == THUMBPRINT
    for by in ("viewer", "people"):
        assert realm.refused("POST", DENIED, SERIAL, by=by)[0] == FORBIDDEN
        assert realm.refused("DELETE", f"{DENIED}/{THUMBPRINT}", by=by)[0] == FORBIDDEN
    assert realm.refused("GET", DENIED, by="people")[0] == FORBIDDEN


def test_the_list_of_master_needs_its_role_admin(realm: AdministeredRealm) -> None:
    """It counts in every realm: `manage-realm` over `master` alone gives no right over others."""
    master = AdministeredRealm(realm.administration, "master")
    with with_every_role_over_master(master, "nobody"):
        status, answer = master.refused("POST", DENIED, {"thumbprint": SHA256}, by="nobody")
    assert (status, answer["error_description"]) == (
        FORBIDDEN,
        "the deny list of the realm master counts in every realm: the caller also needs admin",
    )
    assert master.get(DENIED) == []
    entry = master.change("POST", DENIED, {"thumbprint": SHA256})
    master.change("DELETE", f"{DENIED}/{entry}")


def test_the_command_line_denies_a_file_and_removes_it_again(
    realm: AdministeredRealm, certificate_zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = realm.administration.gateway.state_dir
    monkeypatch.setenv("REALMGATE_STATE_DIR", str(state))
    file = str(certificate_zoo.directory / "device-1.crt")

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, ["certs", "deny", *arguments, "--realm", realm.name])
        assert done.exit_code == code, done.output
        return done.output

    added = run("add", file, "--reason", "lost", "--days", "2")
    (entry,) = realm.get(DENIED)
    assert added == f"denied certificate {entry['id']}: added\n"
    heads, line = run("list").splitlines()
    assert heads.split() == ["ID", "SINCE", "UNTIL", "REASON"]
    assert (line.split()[0], line.split()[-1]) == (entry["id"], "lost")
    assert entry["id"] in run("list", "--output", "json")
    run("remove", file)
    assert run("list") == ""
    run("add", "--issuer", SERIAL["issuer"], "--serial", SERIAL["serial"])
    heads, line = run("list").splitlines()
    assert heads.split()[1:3] == ["ISSUER", "SERIAL"]
    assert line.split()[1:3] == ["CN=Devices,O=Acme", "a1b"]
    assert "does not deny" in run("remove", file, code=1)
    assert "no file" in run("add", "nothing-there", code=2)
    assert "Give either" in run("add", code=2)
