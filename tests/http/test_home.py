"""The URL `/`: browsers are led to the account console, other clients get a 404 as JSON."""

import json
from collections.abc import Iterator

import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration, master
from tests.support.gateway_process import start_gateway, until
from tests.support.wire import PUBLIC_URL

_BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def administration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Administration]:
    """Run a gateway with the realm `master` alone."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "realms.json").write_text(json.dumps([master()]))
    with (
        start_gateway(
            folder, import_realm=folder / "realms.json", public_url=PUBLIC_URL
        ) as gateway,
        gateway.client() as http,
    ):
        yield Administration(gateway, http)


def _realm(administration: Administration, path: str = "/") -> str:
    """Return the realm whose console a browser is led to."""
    answer = administration.http.get(path, headers=_BROWSER)
    assert answer.status_code == 302, answer.text
    assert answer.headers["vary"] == "Accept"
    assert "no-store" in answer.headers["cache-control"]
    parts = answer.headers["location"].removeprefix(f"{PUBLIC_URL}/realms/").split("/")
    assert parts[1:] == ["account", ""], answer.headers["location"]
    return str(parts[0])


def _leads_to(administration: Administration, name: str) -> None:
    """Wait for the realm: the names of the realms are remembered for a moment."""
    until(lambda: _realm(administration) == name, f"the console is not that of {name}")


def test_a_browser_is_led_to_the_console_of_the_only_realm(administration: Administration) -> None:
    for path in ("/", "/auth/"):
        assert _realm(administration, path) == "master"
    with administered_realm(administration, "home-one", {}) as realm:
        _leads_to(administration, "home-one")
        page = administration.http.get("/realms/home-one/account/", headers=_BROWSER)
        assert (page.status_code, 'data-page-id="login-login"' in page.text) == (200, True)
        with administered_realm(administration, "home-two", {}):
            _leads_to(administration, "master")
        _leads_to(administration, "home-one")
        [account] = realm.get("clients?clientId=account")
        realm.change("PUT", f"clients/{account['id']}", {**account, "enabled": False})
        assert _realm(administration) == "master"


@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
def test_another_client_gets_json(administration: Administration, accept: str) -> None:
    answer = administration.http.get("/", headers={"Accept": accept})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["error"]


def test_only_a_get_is_led_anywhere(administration: Administration) -> None:
    assert administration.http.post("/", headers=_BROWSER).status_code == 405
