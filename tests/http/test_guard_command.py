"""Protected sites from a shell, and the rules file of a running gateway."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from gateway.admin.clients import ClientAdministration
from gateway.cli import main
from tests.support.certificates import Zoo
from tests.support.gateway_process import Gateway, GatewayFailed, start_gateway

ALLOWED, REFUSED, BAD, UNREACHABLE = 0, 1, 2, 3
CREATED, CONFLICT = 201, 409
SECRET, PASSWORD = "a client's secret", "a user's password"
PUBLIC_URL = "https://gateway.test"
RULES = """
[[sites]]
name = "intranet"
hosts = ["intranet.example.org"]
realms = ["demo"]
client = "intranet"

[[sites.rules]]
name = "health"
paths = ["/health"]
anonymous = true

[[sites.rules]]
name = "admin"
paths = ["/admin/*"]
realm_roles = ["boss"]

[[sites.rules]]
name = "juniors"
paths = ["/juniors/*"]
groups = ["/staff"]

[[sites.rules]]
name = "machines"
paths = ["/machines/*"]
accepts = ["bearer"]
bound_only = true

[[sites.rules]]
name = "devices"
paths = ["/devices/*"]
accepts = ["certificate"]
certificates = ["subject:CN=device-1,OU=Devices,O=Realmgate Demonstration"]

[[sites.rules]]
name = "reading"
paths = ["/*"]
methods = ["GET"]
"""
WIKI: dict[str, Any] = {
    "name": "wiki",
    "hosts": ["wiki.example.org"],
    "rules": [{"name": "all", "paths": ["/*"], "clients": ["robot"]}],
}
REALM: dict[str, Any] = {
    "realm": "demo",
    "enabled": True,
    "sslRequired": "none",
    "defaultSignatureAlgorithm": "ES256",
    "bruteForceProtected": True,
    "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
    "attributes": {"userProfileEnabled": "false"},
    "roles": {"realm": [{"name": "boss"}]},
    "groups": [{"name": "staff", "subGroups": [{"name": "juniors"}]}],
    "clients": [
        {"clientId": "robot", "secret": SECRET, "serviceAccountsEnabled": True},
        {"clientId": "intranet", "publicClient": True},
    ],
    "users": [
        {"username": "anna", "enabled": True, "realmRoles": ["boss"]},
        {"username": "bob", "enabled": True, "groups": ["/staff/juniors"]},
        {"username": "carl", "enabled": False, "realmRoles": ["boss"]},
    ],
}
OTHER: dict[str, Any] = {"realm": "other", "enabled": True, "defaultSignatureAlgorithm": "ES256"}


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell beside a running gateway, with the same settings."""

    gateway: Gateway
    http: httpx2.Client
    environment: dict[str, str]
    rules: Path
    zoo: Zoo

    def run(self, *arguments: str, code: int = ALLOWED, text: str | None = None) -> Result:
        done = CliRunner(env=self.environment).invoke(main, ["guard", *arguments], input=text)
        assert done.exit_code == code, done.output
        return done

    def explain(self, url: str, *options: str, method: str = "GET", **run: Any) -> dict[str, Any]:
        """Return the explanation; exits 1 where the request is refused."""
        arguments = ("explain", method, url, *options, "--output", "json")
        done = CliRunner(env=self.environment).invoke(main, ["guard", *arguments], **run)
        found: dict[str, Any] = json.loads(done.stdout)
        assert done.exit_code == (ALLOWED if found["decision"] == "allowed" else REFUSED)
        return found

    def token(self) -> str:
        form = {"grant_type": "client_credentials", "client_id": "robot", "client_secret": SECRET}
        answer = self.http.post("/realms/demo/protocol/openid-connect/token", data=form)
        assert answer.is_success, answer.text
        return str(answer.json()["access_token"])

    def put_realm_site(self, document: dict[str, Any], realm: str = "demo") -> Result:
        return CliRunner(env=self.environment).invoke(
            main, ["guard", "set", "-", "--realm", realm], input=json.dumps(document)
        )


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, certificate_zoo: Zoo) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("guarded")
    pki = certificate_zoo.directory
    rules, realms = folder / "rules.toml", folder / "realms.json"
    rules.write_text(RULES)
    realms.write_text(json.dumps([REALM, OTHER]))
    settings: dict[str, Any] = {
        "public_url": PUBLIC_URL,
        "guard_file": str(rules),
        "client_ca_file": str(pki / "ca.crt"),
        "client_crl_file": str(pki / "ca.crl"),
    }
    with (
        start_gateway(folder, import_realm=realms, **settings) as gateway,
        gateway.client() as http,
    ):
        given = {f"REALMGATE_{name.upper()}": value for name, value in settings.items()}
        environment = {**given, "REALMGATE_STATE_DIR": str(gateway.state_dir)}
        yield Shell(gateway, http, environment, rules, certificate_zoo)


@pytest.fixture(autouse=True)
def _only_the_rules_file(shell: Shell) -> Iterator[None]:
    yield
    if shell.rules.read_text() != RULES:
        shell.rules.write_text(RULES)
    for site in json.loads(shell.run("list", "--output", "json").stdout):
        if site["source"] == "realm":
            shell.run("remove", site["name"], "--realm", site["realm"], "--yes")


def test_sites_are_set_listed_shown_and_removed(shell: Shell, tmp_path: Path) -> None:
    assert shell.put_realm_site(WIKI).output == "site wiki: created\n"
    lines = [line.split() for line in shell.run("list").output.splitlines()]
    assert lines == [
        ["intranet", "rules", "file", "6", "rules", "intranet.example.org"],
        ["wiki", "realm", "demo", "1", "rule", "wiki.example.org"],
    ]
    shown = json.loads(shell.run("show", "wiki").stdout)
    assert shown == {"source": "realm", "realm": "demo", **WIKI}
    assert json.loads(shell.run("show", "intranet").stdout)["realms"] == ["demo"]

    file = tmp_path / "wiki.toml"
    file.write_text(
        'name = "wiki"\nhosts = ["docs.example.org"]\n[[rules]]\nname = "r"\npaths = ["/*"]\n'
    )
    done = shell.run("set", str(file), "--realm", "demo")
    assert done.stdout == "site wiki: replaced\n"
    assert "Warning: Rules of the site wiki accept sessions, and the site has no" in done.stderr
    listed = json.loads(shell.run("list", "--realm", "demo", "--output", "json").stdout)
    assert [site["hosts"] for site in listed] == [["docs.example.org"]]

    shell.run("remove", "wiki", "--realm", "demo", "--yes")
    assert "there is no site wiki" in shell.run("show", "wiki", code=REFUSED).output
    shell.run("remove", "wiki", "--realm", "demo", "--yes", code=REFUSED)


def test_sites_of_the_same_name_are_told_apart_by_the_realm(shell: Shell) -> None:
    assert shell.put_realm_site(WIKI).exit_code == ALLOWED
    assert shell.put_realm_site({**WIKI, "hosts": ["other.example.org"]}, "other").exit_code == 0
    assert "give --realm" in shell.run("show", "wiki", code=BAD).output
    shown = json.loads(shell.run("show", "wiki", "--realm", "other").stdout)
    assert (shown["realm"], shown["hosts"]) == ("other", ["other.example.org"])


def test_a_realm_cannot_take_a_host_of_the_file_or_another_realm(shell: Shell) -> None:
    done = shell.put_realm_site({**WIKI, "hosts": ["intranet.example.org"]})
    assert (done.exit_code, done.output) == (
        REFUSED,
        "Error: Host intranet.example.org belongs to a site of the rules file\n",
    )
    assert shell.put_realm_site(WIKI).exit_code == ALLOWED
    done = shell.put_realm_site(WIKI, "other")
    assert (done.exit_code, "wiki.example.org belongs to another" in done.output) == (REFUSED, True)


def test_a_wrong_site_is_refused_with_every_error(shell: Shell) -> None:
    done = shell.put_realm_site({**WIKI, "hosts": ["*"], "realms": ["master"]})
    assert done.exit_code == BAD
    assert len(done.output.splitlines()) == len(("hosts", "realms"))


def test_a_file_that_is_too_large_is_refused_and_not_cut(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    site = 'name = "wiki"\nhosts = ["wiki.example.org"]\n[[rules]]\nname = "r"\npaths = ["/*"]\n'
    comment = f"#{'x' * 1023}\n" * (4 * 1024)
    # Without its end the file is valid: the rule would accept every kind of credential.
    file.write_text(f'{site}{comment}accepts = ["certificate"]\n')
    done = shell.run("set", str(file), "--realm", "demo", code=BAD)
    assert "longer than 4194304 bytes" in done.output
    assert "longer than 4194304 bytes" in shell.run("check", str(file), code=BAD).output
    shell.run("show", "wiki", code=REFUSED)


def test_a_rules_file_is_checked_without_a_gateway(shell: Shell, tmp_path: Path) -> None:
    assert shell.run("check", str(shell.rules)).output == "1 site with 6 rules: valid\n"
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(RULES.replace('"/admin/*"', '"/admin/**"').replace('"/health"', '"health"'))
    lines = shell.run("check", str(wrong), code=BAD).output.splitlines()
    assert [line.partition(": ")[2].partition(": ")[2].partition(":")[0] for line in lines] == [
        "sites[0].rules[0].paths[0]",
        "sites[0].rules[1].paths[0]",
    ]
    shell.run("check", str(tmp_path / "missing.toml"), code=BAD)


@pytest.mark.parametrize(
    ("url", "method", "decision", "rule", "reason"),
    [
        ("https://intranet.example.org/health", "POST", "allowed", "health", None),
        ("https://intranet.example.org/", "GET", "unauthenticated", "reading", "no_credential"),
        ("https://intranet.example.org", "GET", "unauthenticated", "reading", "no_credential"),
        ("https://intranet.example.org/x?a=b", "POST", "forbidden", None, "no_rule"),
        ("https://elsewhere.example.org/", "GET", "forbidden", None, "unknown_host"),
        ("https://intranet.example.org/a/../b", "GET", "forbidden", None, "ambiguous_request"),
        ("https://intranet.example.org/%2e%2e/", "GET", "forbidden", None, "ambiguous_request"),
        ("https://intranet.example.org/health#a", "GET", "forbidden", None, "ambiguous_request"),
    ],
)
def test_the_rule_that_decides_is_named_with_the_reason(  # noqa: PLR0917 - a row of the table
    shell: Shell, url: str, method: str, decision: str, rule: str | None, reason: str | None
) -> None:
    found = shell.explain(url, method=method)
    named = (found["decision"], found["rule"], found["reason"])
    assert named == (decision, rule, reason)
    assert found["explanation"]


def test_the_server_of_the_proxy_and_the_host_have_one_site(shell: Shell) -> None:
    url = "https://intranet.example.org/health"
    for server, code, part in (
        ("intranet.example.org:443", ALLOWED, "lets every caller pass"),
        ("intranet.example.org", ALLOWED, "lets every caller pass"),
        ("other.example.org:443", REFUSED, "no site has the host other.example.org, which"),
        ("*.example.org:443", REFUSED, "no site has the host *.example.org, which"),
        ("_:443", REFUSED, "no name that a site could have"),
    ):
        assert part in shell.run("explain", "GET", url, "--server", server, code=code).output


def test_invalid_urls_and_contradicting_options_are_refused(shell: Shell) -> None:
    shell.run("explain", "GET", "ftp://intranet.example.org/", code=BAD)
    shell.run("explain", "GET", "/health", code=BAD)
    url = "https://intranet.example.org/"
    shell.run("explain", "GET", url, "--user", "anna", "--token", "-", code=BAD, text="x")
    shell.run("explain", "GET", url, "--realm", "demo", code=BAD)
    shell.run("explain", "GET", url, "--user", "nobody", code=BAD)
    shell.run("explain", "GET", url, "--user", "anna", "--realm", "other", code=BAD)
    shell.run("explain", "GET", url, "--cert", "-", code=BAD, text="no certificate")


def test_the_live_roles_and_groups_of_a_user_decide(shell: Shell) -> None:
    admin, juniors = (f"https://intranet.example.org/{path}" for path in ("admin", "juniors/1"))
    found = shell.explain(admin, "--user", "anna")
    assert (found["decision"], found["rule"], found["caller"]["realmRoles"]) == (
        *("allowed", "admin"),
        ["boss"],
    )
    found = shell.explain(admin, "--user", "bob")
    assert (found["status"], found["reason"]) == (403, "missing_realm_role")
    assert found["explanation"] == "the rule admin requires one of: boss"
    assert shell.explain(juniors, "--user", "bob")["decision"] == "allowed"
    assert shell.explain(juniors, "--user", "anna")["reason"] == "missing_group"
    disabled = shell.explain(admin, "--user", "carl")
    assert (disabled["status"], disabled["reason"]) == (401, "invalid_session")
    assert "disabled" in disabled["explanation"]


def test_a_token_is_judged_as_at_the_gateway_and_never_shown(shell: Shell, tmp_path: Path) -> None:
    token, url = shell.token(), "https://intranet.example.org/"
    found = shell.explain(url, "--token", "-", input=f"{token}\n")
    assert (found["decision"], found["caller"]["client"]) == ("allowed", "robot")
    assert token not in json.dumps(found)
    bound = shell.explain(f"{url}machines/1", "--token", "-", input=token)
    assert (bound["status"], bound["reason"]) == (401, "token_not_bound")
    file = tmp_path / "token"
    file.write_text(token[:-4] + "AAAA")
    forged = shell.explain(url, "--token", str(file))
    assert (forged["status"], forged["reason"]) == (401, "invalid_token")


def test_a_certificate_is_judged_as_one_that_the_proxy_verified(shell: Shell) -> None:
    url = "https://intranet.example.org/devices/1"
    found = shell.explain(url, "--cert", str(shell.zoo.directory / "device-1.crt"))
    assert (found["decision"], found["rule"]) == ("allowed", "devices")
    assert found["caller"]["credential"] == "certificate"
    other = shell.explain(url, "--cert", str(shell.zoo.directory / "device-2.crt"))
    assert (other["status"], other["reason"]) == (403, "certificate_not_allowed")
    revoked = shell.explain(url, "--cert", str(shell.zoo["revoked"].certificate))
    assert (revoked["status"], revoked["reason"]) == (401, "untrusted_certificate")


def test_an_explanation_is_readable_text(shell: Shell) -> None:
    output = shell.run(
        "explain", "GET", "https://intranet.example.org/admin", "--user", "bob", code=REFUSED
    ).output
    assert [line.split(maxsplit=1)[0] for line in output.splitlines()][:5] == [
        *("decision", "site", "rule", "reason", "why"),
    ]


def test_a_gateway_reads_new_rules_and_keeps_old_beside_wrong(
    shell: Shell,
) -> None:
    headers = {"Authorization": f"Bearer {_administrator(shell)}"}
    taking = {**WIKI, "hosts": ["new.example.org"]}

    def is_reserved() -> bool:
        answer = shell.http.post("/admin/realms/demo/guard/sites", json=taking, headers=headers)
        if answer.status_code == CREATED:
            shell.http.delete("/admin/realms/demo/guard/sites/wiki", headers=headers)
        return answer.status_code == CONFLICT

    assert not is_reserved()
    shell.rules.write_text(RULES.replace("intranet.example.org", "new.example.org"))
    _within_a_second(is_reserved)
    shell.rules.write_text("[[sites]]\n" * 2)
    _within_a_second(lambda: "rules file refused" in shell.gateway.log_text())
    assert is_reserved()
    (line,) = [line for line in shell.gateway.log() if line["event"] == "rules file refused"]
    assert len(line["errors"]) == 2 * len(("name", "hosts", "realms"))
    shell.rules.write_text(RULES)
    _within_a_second(lambda: not is_reserved())


def test_a_wrong_rules_file_stops_the_start_with_every_error(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES.replace('"/admin/*"', '"/admin/**"').replace('"/health"', '"health"'))
    with pytest.raises(GatewayFailed) as failure, start_gateway(tmp_path, guard_file=rules):
        pass
    text = str(failure.value)
    assert "sites[0].rules[0].paths[0]" in text
    assert "sites[0].rules[1].paths[0]" in text


def _within_a_second(condition: Any) -> None:
    """Wait for the poll of half a second, and for a slow machine."""
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline


def _administrator(shell: Shell) -> str:
    form = {
        "grant_type": "password",
        "client_id": "admin-cli",
        "username": "admin",
        "password": "the administrator's word",
    }
    answer = shell.http.post("/realms/master/protocol/openid-connect/token", data=form)
    assert answer.is_success, answer.text
    return str(answer.json()["access_token"])


def test_a_file_that_is_missing_is_named(shell: Shell) -> None:
    done = shell.run("set", "missing.json", "--realm", "demo", code=2)
    assert "missing.json: No such file or directory" in done.output


def test_redirect_uris_that_others_add_meanwhile_are_kept(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Authorization": f"Bearer {_administrator(shell)}"}
    path, uris = "/admin/realms/demo/clients", ["https://b.test/*", "https://a.test/*"]
    update = ClientAdministration.update_client

    async def after_another(
        administration: Any, acting: Any, client: str, *given: Any, **more: Any
    ) -> None:
        """Let an administrator change the client between the reading and the writing."""
        if uris:
            body = {"redirectUris": [uris.pop()]}
            assert shell.http.put(f"{path}/{client}", json=body, headers=headers).is_success
        await update(administration, acting, client, *given, **more)

    monkeypatch.setattr(ClientAdministration, "update_client", after_another)
    text = json.dumps({**WIKI, "client": "intranet"})
    done = shell.run("set", "-", "--realm", "demo", "--create-client", text=text)
    callback = "https://wiki.example.org/.realmgate/callback"
    assert f"client intranet: added {callback}" in done.stdout
    (client,) = shell.http.get(path, params={"clientId": "intranet"}, headers=headers).json()
    assert client["redirectUris"] == ["https://b.test/*", callback]
