"""The doctor and `guard set` report what a protected site names and its realm lacks."""

import base64
import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from gateway.domain.secrets import Secret
from gateway.settings import read_settings
from gateway.supervisor.preparation import prepare
from tests.support.forked_gateway import run_command

KEY: Final = base64.b64encode(bytes(32)).decode()
PUBLIC_URL: Final = "https://id.example.org:9443"
REALM: Final = "office"


def site(name: str, **members: Any) -> dict[str, Any]:
    document = {"name": name, "hosts": [f"{name}.example.org"], "client": "portal"} | members
    document.setdefault("rules", [{"name": "all", "paths": ["/*"]}])
    return {key: value for key, value in document.items() if value is not None}


def rule(**members: Any) -> list[dict[str, Any]]:
    return [{"name": "all", "paths": ["/*"], **members}]


def callback(host: str) -> str:
    return f"https://{host}/.realmgate/callback"


GOOD: Final = (
    site("good"),
    site("wild", hosts=["*.apps.example.org"]),
    site("machines", client=None, rules=rule(accepts=["bearer", "certificate"])),
    site("open", client=None, rules=rule(anonymous=True)),
    site("empty", client="nobody", rules=[]),
    site("callers-alone", client=None, rules=rule(clients=["robot"])),
    site(
        "strict",
        rules=rule(
            realmRoles=["boss"],
            clientRoles=["portal/reader"],
            groups=["/staff/juniors"],
            clients=["robot"],
            scopes=["openid", "email"],
        ),
    ),
)
_NO_CLIENT: Final = "Rules of the site no-client accept sessions, and the site has no client"
BAD: Final[tuple[tuple[dict[str, Any], str, str, str, str], ...]] = (
    (site("no-client", client=None), "site-client", "warning", _NO_CLIENT, "--create-client"),
    (
        *(site("gone", client="gone"), "site-client", "wrong", "The client gone of the site gone"),
        "client create gone --realm office --set 'redirectUris=[\"https://gone.example.org/.real",
    ),
    (
        *(site("off", client="off"), "site-client", "wrong", "of the site off is disabled"),
        "realmgate client update off --realm office --set enabled=true",
    ),
    (
        *(site("port", hosts=["port.example.org:9443"]), "site-redirect-uris", "wrong"),
        "(it has https://port.example.org:8443/.realmgate/callback, with another port or path)",
        '"https://port.example.org:9443/.realmgate/callback"]',
    ),
    (
        *(site("path", hosts=["path.example.org"]), "site-redirect-uris", "wrong"),
        "it has https://path.example.org/callback, with another port or path",
        "realmgate client update portal",
    ),
    (
        *(site("other", client="bare"), "site-redirect-uris", "wrong", "(it has none)"),
        "--set 'redirectUris=[\"https://other.example.org/.realmgate/callback\"]'",
    ),
    (
        *(site("second", hosts=["good.example.org:1", "x.example.org"]), "site-redirect-uris"),
        *("wrong", "callback, https://x.example.org/.realmgate/callback", "client update"),
    ),
    (
        *(site("wilder", hosts=["*.shops.example.org"]), "site-redirect-uris", "wrong"),
        *("https://*.shops.example.org/.realmgate/callback", '"https://HOST.shops.example.org/'),
    ),
    (
        *(site("role", rules=rule(realmRoles=["editor"])), "site-requirements", "wrong"),
        "requires the realm role editor, which does not exist in the realm office: no caller",
        "realmgate role create editor --realm office",
    ),
    (
        *(site("roles", rules=rule(realmRoles=["boss", "typo"])), "site-requirements", "warning"),
        *("realm role typo, which does not exist in the realm office: the rule never", "typo"),
    ),
    (
        *(site("part", rules=rule(clientRoles=["portal/writer"])), "site-requirements", "wrong"),
        *("requires the client role portal/writer", "realmgate role create portal/writer"),
    ),
    (
        *(site("group", rules=rule(groups=["/staff/seniors"])), "site-requirements", "wrong"),
        *("requires the group /staff/seniors", "realmgate group create /staff/seniors"),
    ),
    (
        *(site("callers", rules=rule(clients=["a", "b"])), "site-requirements", "wrong"),
        *("requires the clients a, b, which do not exist", "realmgate client create a"),
    ),
    (
        *(site("scope", rules=rule(scopes=["invoices"])), "site-requirements", "wrong"),
        *("requires the client scope invoices", "a client scope of that name"),
    ),
)
"""Site, check, outcome, and parts of the problem and of the remedy."""
HOSTS: Final = ("good", "strict", "role", "roles", "part", "group", "callers", "scope")
DOCUMENT: Final = {
    "realm": REALM,
    "enabled": True,
    "defaultSignatureAlgorithm": "ES256",
    "roles": {"realm": [{"name": "boss"}], "client": {"portal": [{"name": "reader"}]}},
    "groups": [{"name": "staff", "subGroups": [{"name": "juniors"}]}],
    "clients": [
        {"clientId": "robot", "serviceAccountsEnabled": True, "secret": "a-secret"},
        {
            "clientId": "portal",
            "secret": "a-secret",
            "redirectUris": [
                *(callback(f"{name}.example.org") for name in HOSTS),
                callback("port.example.org:8443"),
                "https://path.example.org/callback",
                callback("one.apps.example.org"),
            ],
        },
        {"clientId": "bare", "secret": "a-secret"},
        {"clientId": "off", "secret": "a-secret", "enabled": False},
    ],
}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state folder of an installation with these sites."""
    folder = tmp_path_factory.mktemp("sites")
    sites = [*GOOD, *(bad[0] for bad in BAD)]
    realms = [{"realm": "master", "enabled": True}, {**DOCUMENT, "guardSites": sites}]
    (folder / "realms.json").write_text(json.dumps(realms))
    prepare(
        read_settings(
            state_dir=folder / "state",
            encryption_key=Secret(KEY),
            admin_password=Secret("a-password"),
            import_realm=(folder / "realms.json",),
        )
    )
    return folder


def run(folder: Path, *command: str, typed: str = "", **settings: str) -> tuple[int, str, str]:
    done = run_command(
        list(command),
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "REALMGATE_STATE_DIR": str(folder / "state"),
            "REALMGATE_ENCRYPTION_KEY": KEY,
            "REALMGATE_PUBLIC_URL": PUBLIC_URL,
            **settings,
        },
        typed=typed,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def examinations(folder: Path, **settings: str) -> dict[str, dict[str, Any]]:
    _, said, _ = run(folder, "doctor", "--output", "json", **settings)
    return {each["name"]: each for each in json.loads(said)["examinations"]}


def of_site(found: dict[str, dict[str, Any]], name: str) -> list[tuple[str, str, str]]:
    """Return check, problem and remedy of the findings about a site."""
    return [
        (check, finding["problem"], finding["remedy"])
        for check, each in found.items()
        if check.startswith("site-")
        for finding in each["findings"]
        if f"the site {name} " in f"{finding['problem']} "
    ]


def test_each_site_has_its_finding_and_good_ones_have_none(state: Path) -> None:
    found = examinations(state)
    for good in GOOD:
        assert of_site(found, good["name"]) == [], good["name"]
    for document, check, outcome, problem, remedy in BAD:
        (finding,) = of_site(found, document["name"])
        assert finding[0] == check, document
        assert problem in finding[1], document
        assert remedy in finding[2], document
        if outcome == "wrong":
            assert found[check]["outcome"] == "wrong", document
    assert {found[check]["outcome"] for _, check, *_ in BAD} == {"wrong"}


def test_setting_a_site_warns_of_what_the_doctor_reports(state: Path) -> None:
    found = examinations(state)
    for document in (*GOOD, *(bad[0] for bad in BAD)):
        command = ("guard", "set", "-", "--realm", REALM)
        code, said, warned = run(
            *(state, *command), typed=json.dumps(document), REALMGATE_PUBLIC_URL="https://id.test"
        )
        assert (code, said) == (0, f"site {document['name']}: replaced\n"), warned
        lines = [line for line in warned.splitlines() if line]
        expected = [
            line
            for _, problem, remedy in of_site(found, document["name"])
            for line in (f"Warning: {problem}", f"  Remedy: {remedy}")
        ]
        assert lines == expected


def test_only_warnings_leave_the_exit_code_zero(tmp_path: Path) -> None:
    warned = [bad[0] for bad in BAD if bad[2] == "warning"]
    realms = [{"realm": "master", "enabled": True}, {**DOCUMENT, "guardSites": warned}]
    (tmp_path / "realms.json").write_text(json.dumps(realms))
    prepare(
        read_settings(
            state_dir=tmp_path / "state",
            encryption_key=Secret(KEY),
            admin_password=Secret("a-password"),
            import_realm=(tmp_path / "realms.json",),
        )
    )
    code, said, _ = run(tmp_path, "doctor", "--nginx", str(_quiet_nginx(tmp_path)))
    assert code == 0, said
    assert said.count("warn  ") == len(warned), said


def _quiet_nginx(folder: Path) -> Path:
    main = folder / "nginx.conf"
    main.write_text("events {} http { server { listen 127.0.0.1:1; } }")
    return main


def test_the_rules_file_may_name_a_realm_that_is_missing(state: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[sites]]\nname = "far"\nhosts = ["far.example.org"]\nrealms = ["office", "plant"]\n'
        'bearer_audience = "any"\n[[sites.rules]]\nname = "all"\npaths = ["/*"]\n'
        'accepts = ["bearer"]\nrealm_roles = ["boss"]\n'
    )
    found = examinations(state, REALMGATE_GUARD_FILE=str(rules))
    (finding,) = of_site(found, "far")
    assert finding[:2] == ("site-realms", "The realm plant of the site far does not exist.")
    assert "realmgate realm create plant" in finding[2]


def test_create_client_makes_the_client_that_the_site_needs(state: Path) -> None:
    document = site("fresh", client=None, hosts=["fresh.example.org:9443", "*.fresh.example.org"])
    command = ("guard", "set", "-", "--realm", REALM, "--create-client")
    code, said, warned = run(state, *command, typed=json.dumps(document))
    assert (code, said) == (0, "site fresh: created\nclient fresh: created\n"), warned
    # The hosts of a wildcard cannot be listed: its redirect URIs are the operator's.
    assert warned.count("Warning: ") == 1
    assert "https://*.fresh.example.org/.realmgate/callback" in warned
    _, shown, _ = run(state, "client", "show", "fresh", "--realm", REALM)
    client = json.loads(shown)
    assert client["redirectUris"] == [callback("fresh.example.org:9443")]
    grants = ("standard", "implicit")
    assert [client[f"{grant}FlowEnabled"] for grant in grants] == [True, False]
    assert (client["publicClient"], client["directAccessGrantsEnabled"]) == (False, False)
    _, shown, _ = run(state, "guard", "show", "fresh", "--realm", REALM)
    assert json.loads(shown)["client"] == "fresh"
    document = site("fresh", client="fresh", hosts=["fresh.example.org:9443", "b.example.org"])
    code, said, warned = run(state, *command, typed=json.dumps(document))
    added = f"client fresh: added {callback('b.example.org')}"
    assert (code, said, warned) == (0, f"site fresh: replaced\n{added}\n", "")
    code, said, warned = run(state, *command, typed=json.dumps(document))
    assert (code, said, warned) == (0, "site fresh: replaced\n", "")


def test_a_client_is_not_made_for_a_site_that_is_refused(state: Path) -> None:
    document = site("twin", client=None, hosts=["good.example.org"])
    command = ("guard", "set", "-", "--realm", REALM, "--create-client")
    code, _, _ = run(state, *command, typed=json.dumps(document))
    assert code != 0
    code, _, _ = run(state, "client", "show", "twin", "--realm", REALM)
    assert code != 0


def test_hosts_without_the_port_of_the_gateway_are_a_warning(state: Path) -> None:
    command = ("guard", "set", "-", "--realm", REALM)
    _, _, warned = run(state, *command, typed=json.dumps(GOOD[0]))
    assert "requests for good.example.org:9443 are refused" in warned
    _, _, warned = run(
        state, *command, typed=json.dumps(GOOD[0]), REALMGATE_PUBLIC_URL="https://id.example.org"
    )
    assert warned == ""
