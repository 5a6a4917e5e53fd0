"""Themes of the operator in a running gateway: served, listed, and checked at the start."""

import json
from pathlib import Path

from gateway.http.pages import load_designs
from tests.support.gateway_process import start_gateway
from tests.support.sign_in_browser import SignInBrowser

ADMIN = {
    "grant_type": "password",
    "client_id": "admin-cli",
    "username": "admin",
    "password": "the administrator's word",
}


def test_a_theme_is_served_and_listed_for_clients(tmp_path: Path) -> None:
    static = tmp_path / "themes/acme/static"
    static.mkdir(parents=True)
    (static / "theme.css").write_text(":root{--radius:0}")
    themes = tmp_path / "themes"
    with start_gateway(tmp_path, themes=themes) as gateway, gateway.client() as http:
        version = load_designs(themes).version
        found = http.get(f"/resources/{version}/themes/acme/theme.css")
        assert (found.status_code, found.text) == (200, ":root{--radius:0}")
        assert "immutable" in found.headers["cache-control"]
        answer = http.post("/realms/master/protocol/openid-connect/token", data=ADMIN)
        bearer = {"Authorization": f"Bearer {answer.json()['access_token']}"}
        listed = http.get("/admin/serverinfo", headers=bearer).json()["themes"]
        assert [kind for kind in listed if {"name": "acme"} in listed[kind]] == [
            *("account", "email", "login")
        ]
        uri = "https://app.example.test/"
        for client_id, attributes in (("plain", {}), ("themed", {"login_theme": "acme"})):
            client = {"clientId": client_id, "redirectUris": [uri], "attributes": attributes}
            http.post("/admin/realms/master/clients", json=client, headers=bearer)
            asked = {"response_type": "code", "client_id": client_id, "redirect_uri": uri}
            page = http.get("/realms/master/protocol/openid-connect/auth", params=asked)
            assert page.status_code == 200
            assert ("/themes/acme/theme.css" in page.text) is (client_id == "themed")
        for theme in ("acme", "keycloak"):
            http.put("/admin/realms/master", json={"loginTheme": theme}, headers=bearer)
            asked = {"response_type": "code", "client_id": "plain", "redirect_uri": uri}
            page = http.get("/realms/master/protocol/openid-connect/auth", params=asked)
            assert ("/themes/acme/theme.css" in page.text) is (theme == "acme")


def test_the_account_console_may_have_a_theme_of_its_own(tmp_path: Path) -> None:
    for theme in ("acme", "other"):
        static = tmp_path / f"themes/{theme}/static"
        static.mkdir(parents=True)
        (static / "theme.css").write_text(":root{--radius:0}")
    with start_gateway(tmp_path, themes=tmp_path / "themes") as gateway, gateway.client() as http:
        answer = http.post("/realms/master/protocol/openid-connect/token", data=ADMIN)
        bearer = {"Authorization": f"Bearer {answer.json()['access_token']}"}
        browser = SignInBrowser(http, "master", public_url="https://localhost:8443")
        browser.submit(
            browser.get("/realms/master/account"),
            username=ADMIN["username"],
            password=ADMIN["password"],
        )
        for named, used in ((None, "acme"), ("other", "other"), ("keycloak.v3", None)):
            themes = {"loginTheme": "acme", "accountTheme": named}
            http.put("/admin/realms/master", json=themes, headers=bearer)
            page = browser.get("/realms/master/account").html
            found = [theme for theme in ("acme", "other") if f"/themes/{theme}/theme.css" in page]
            assert found == [used] * (used is not None)


def test_a_theme_with_a_mistake_ends_the_start_with_its_place(tmp_path: Path) -> None:
    templates = tmp_path / "themes/acme/templates"
    templates.mkdir(parents=True)
    (templates / "login.html").write_text("\n{{ unknown }}")
    with start_gateway(tmp_path, themes=tmp_path / "themes", wait=False) as gateway:
        assert gateway.process.wait(timeout=60) != 0
        said = gateway.log_file.read_text()
    assert "acme/templates" in said
    assert "'unknown' is undefined" in said


def test_an_import_at_the_start_knows_the_themes_of_the_operator(tmp_path: Path) -> None:
    (tmp_path / "themes/acme/static").mkdir(parents=True)
    (tmp_path / "themes/acme/static/theme.css").write_text("")
    realm = {"realm": "themed", "loginTheme": "acme", "accountTheme": "none"}
    (tmp_path / "realm.json").write_text(json.dumps(realm))
    with start_gateway(
        tmp_path, themes=tmp_path / "themes", import_realm=tmp_path / "realm.json"
    ) as gateway:
        findings = [line for line in gateway.log() if "no such theme" in str(line)]
    assert [line["member"] for line in findings] == ["accountTheme"]
