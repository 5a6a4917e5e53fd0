"""`realmgate doctor` finds what is wrong, and says so in a sentence."""

import base64
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.cli.nginx import NginxSite, render_nginx
from gateway.doctor.findings import ProblemFound
from gateway.doctor.installation import CHECKS
from gateway.domain.secrets import Secret
from gateway.settings import read_settings
from gateway.supervisor.preparation import prepare
from tests.support.chains import CA, issue
from tests.support.forked_gateway import run_command
from tests.support.nginx import make_prefix, nginx_command

KEY = base64.b64encode(bytes(32)).decode()


def examine(
    tmp_path: Path, *options: str, path: object = "", typed: object = "", **settings: object
) -> tuple[int, str]:
    """Run the command; `typed` is its standard input.

    `path` comes before PATH. Without it, an nginx that leads to no gateway does: the configuration
    of the host's own nginx changes no result.
    """
    path = path or _nginx_without_gateway(tmp_path / "unrelated")
    settings = {"state_dir": tmp_path / "state", "encryption_key": KEY} | settings
    done = run_command(
        ["doctor", *options],
        cwd=tmp_path,
        env={
            "PATH": f"{path}:{os.environ['PATH']}",
            **{f"REALMGATE_{name.upper()}": str(value) for name, value in settings.items()},
        },
        typed=str(typed),
        timeout=30,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_new_installation_with_authorities_is_in_order(tmp_path: Path, pki: Path) -> None:
    code, said = examine(tmp_path, client_ca_file=pki / "ca.crt", client_crl_file=pki / "ca.crl")
    assert (code, said.count("WRONG")) == (0, 0), said
    assert "The revocation lists are valid until 20" in said
    assert not (tmp_path / "state").exists(), "it changes nothing"


def test_nginx_is_found_by_somebody_whose_path_has_no_sbin(
    tmp_path: Path, pki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    _, said = examine(tmp_path, path="/bin", **_authorities(pki))
    assert re.search(r"^ok +nginx \d", said, re.MULTILINE), said


def test_a_program_that_never_says_its_version_is_a_problem(tmp_path: Path, pki: Path) -> None:
    nginx = tmp_path / "silent" / "nginx"
    nginx.parent.mkdir()
    nginx.write_text('#!/bin/sh\n[ "$1" = -v ] || exit 1\nexec tail -f /dev/null\n')
    nginx.chmod(0o700)
    authorities = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, path=nginx.parent, **authorities)
    assert (code, "Traceback" in said) == (1, False), said
    assert f"WRONG {nginx} -v does not end." in said


def test_a_valkey_server_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway starts one where no redis-server is installed."""
    redis = shutil.which("redis-server") or shutil.which("valkey-server")
    assert redis
    (tmp_path / "valkey-server").symlink_to(redis)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = dict(CHECKS)["redis-version"](read_settings(state_dir=tmp_path))
    assert re.fullmatch(r"valkey-server \d+\.\d+ is installed\.", said)
    (tmp_path / "valkey-server").unlink()
    with pytest.raises(ProblemFound, match=r"redis-server is not installed"):
        dict(CHECKS)["redis-version"](read_settings(state_dir=tmp_path))


def test_another_certificate_header_must_match_that_of_nginx(tmp_path: Path, pki: Path) -> None:
    authorities = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    header = {"certificate_header": "x-client-cert"}
    code, said = examine(tmp_path, **authorities, **header)
    assert code == 1
    assert "WRONG The gateway reads certificates from x-client-cert, and it is not known" in said
    folder = tmp_path / "nginx"
    site = NginxSite(("unix:/run/gateway.sock",), tmp_path)
    render_nginx(site, folder)
    configuration = ("--nginx", str(folder))
    code, said = examine(tmp_path, *configuration, **authorities, **header)
    assert code == 1
    assert "sends the certificate in ssl-client-cert, the gateway reads it from x-client-ce" in said
    render_nginx(replace(site, certificate_header="x-client-cert"), folder)
    code, said = examine(tmp_path, *configuration, **authorities, **header)
    assert (code, said.count("WRONG")) == (0, 0), said
    assert re.search(r"^ok +nginx: 4 servers with \d+ locations examined", said, re.MULTILINE)


def test_nginx_does_not_write_certificates_as_another_proxy(tmp_path: Path, pki: Path) -> None:
    settings = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    lookup = {"certificate_lookup": "rfc9440"}
    code, said = examine(tmp_path, **settings, **lookup)
    assert (code, "it is not known whether nginx sends" in said) == (0, False), said
    folder = tmp_path / "nginx"
    render_nginx(NginxSite(("unix:/run/gateway.sock",), tmp_path), folder)
    code, said = examine(tmp_path, "--nginx", str(folder), **settings, **lookup)
    assert code == 1
    assert "leads to a gateway that reads certificates as rfc9440 sends them" in said
    assert "set REALMGATE_CERTIFICATE_LOOKUP=nginx" in said


def test_nginx_must_send_the_required_proxy_secret(tmp_path: Path, pki: Path) -> None:
    secret = "the-secret-of-the-proxy"
    required = {
        "client_ca_file": pki / "ca.crt",
        "client_crl_file": pki / "ca.crl",
        "proxy_secret": secret,
    }
    folder = tmp_path / "nginx"
    configuration = ("--nginx", str(folder))
    site = NginxSite(("unix:/run/gateway.sock",), tmp_path)
    for sent, problem in (
        ("", "does not send the proxy secret"),
        ("another-secret-of-the-proxy", "sends another proxy secret than the gateway requires"),
    ):
        render_nginx(replace(site, proxy_secret=sent), folder)
        code, said = examine(tmp_path, *configuration, **required)
        assert code == 1
        assert problem in said
        assert f"WRONG {folder}/realmgate/site/proxy-secret.conf:1 proxy-secret" in said
        assert "REALMGATE_PROXY_SECRET_FILE" in said
        assert secret not in said
    render_nginx(replace(site, proxy_secret=secret), folder)
    code, said = examine(tmp_path, *configuration, **required)
    assert (code, said.count("WRONG")) == (0, 0), said


def test_a_configuration_nginx_refuses_is_named_by_line(tmp_path: Path, pki: Path) -> None:
    authorities = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    file = tmp_path / "nginx.conf"
    for text, line, reason in (
        ("events {}\nhttp {\n", 2, "is never closed"),
        ("events {}\nhttp { server { listen 80 } }\n", 2, 'unexpected "}"'),
        ("http {\n include gone.conf;\n}\n", 2, "No such file"),
        ("events {}\n", None, "has no server"),
        *(
            (f"http {{ server {{\n{line};\n}} }}\n", 2, "invalid number of arguments in")
            for line in ("ssl_crl", "ssl_client_certificate", "rewrite x", "proxy_set_header X")
        ),
    ):
        file.write_text(text)
        code, said = examine(tmp_path, "--nginx", str(file), **authorities)
        assert code == 1
        assert reason in said
        assert line is None or f"WRONG {file}:{line} nginx-configuration" in said, said


_BROKEN = Path(__file__).parent / "broken_nginx"
_MISTAKE = "session-tickets.conf"


def _broken(tmp_path: Path, certificates: Path) -> Path:
    """Return a configuration with one mistake, which leads to a gateway."""
    folder = make_prefix(tmp_path) / "nginx"
    render_nginx(NginxSite(("unix:/run/gateway.sock",), certificates), folder)
    (folder / "certs").symlink_to(certificates)
    shutil.copytree(_BROKEN / "shared", folder / "shared")
    return Path(shutil.copy(_BROKEN / _MISTAKE, folder))


def _installed(folder: Path, *arguments: str) -> str:
    """Return a folder with the real nginx under its own name, with other arguments before."""
    folder.mkdir()
    program = folder / "nginx"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(arguments)} "$@"\n')
    program.chmod(0o755)
    return str(folder)


def _nginx_without_gateway(folder: Path) -> str:
    if not folder.exists():
        folder.mkdir()
        main = make_prefix(folder) / "nginx.conf"
        main.write_text("events {} http { server { listen 127.0.0.1:1; } }")
        _installed(folder / "bin", *nginx_command(folder, main))
    return str(folder / "bin")


def _command(main: Path) -> list[str]:
    return nginx_command(main.parent.parent, main)


def _authorities(pki: Path) -> dict[str, object]:
    return {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}


def test_the_installed_nginx_is_asked_for_its_configuration(tmp_path: Path, pki: Path) -> None:
    """`nginx -T`: file and line are those of the files that it read."""
    main = _broken(tmp_path, pki)
    programs = _installed(tmp_path / "bin", *_command(main))
    code, said = examine(tmp_path, path=programs, **_authorities(pki))
    given, expected = examine(tmp_path, "--nginx", str(main), **_authorities(pki))
    assert said == expected
    assert (code, given) == (1, 1)
    assert re.search(rf"^WRONG {main}:\d+ session-resumption$", said, re.MULTILINE), said


def test_the_output_of_nginx_may_come_from_standard_input(tmp_path: Path, pki: Path) -> None:
    main = _broken(tmp_path, pki)
    command = [*_command(main), "-T"]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    code, said = examine(tmp_path, "--nginx", "-", typed=dump, **_authorities(pki))
    assert (code, said) == examine(tmp_path, "--nginx", str(main), **_authorities(pki))
    code, said = examine(tmp_path, "--nginx", "-", typed=main.read_text())
    assert code == 1
    assert "this is no output of nginx -T: it names no configuration file" in said
    code, said = examine(tmp_path, "--nginx", "-", "--token", "-", typed=dump)
    assert (code, "cannot both read standard input" in said) == (2, True)


@pytest.mark.parametrize(
    ("directive", "reason"),
    [
        ("", "no server of the installed nginx leads to the gateway"),
        ("unknown on;", 'nginx -T failed: unknown directive "unknown" in '),
    ],
)
def test_an_nginx_that_cannot_be_examined_is_named(
    tmp_path: Path, pki: Path, directive: str, reason: str
) -> None:
    """It is not a mistake of the gateway's proxy, which may run elsewhere."""
    main = make_prefix(tmp_path) / "other.conf"
    main.write_text(f"{directive} events {{}} http {{ server {{ listen 127.0.0.1:1; }} }}")
    programs = _installed(tmp_path / "bin", *nginx_command(tmp_path, main))
    code, said = examine(tmp_path, path=programs, **_authorities(pki))
    assert code == 0, said
    assert f"nginx-configuration was not done: {reason}" in said
    assert "run doctor with --nginx CONF" in said


def test_nginx_learns_no_secret_of_the_environment(tmp_path: Path, pki: Path) -> None:
    learned = tmp_path / "learned"
    programs = _installed(tmp_path / "bin", "sh", "-c", f"env > {learned}; exit 1")
    examine(tmp_path, path=programs, **_authorities(pki))
    assert "PATH=" in learned.read_text()
    assert KEY not in learned.read_text()


def test_the_report_in_json_names_file_line_and_remedy(tmp_path: Path, pki: Path) -> None:
    file = tmp_path / "nginx.conf"
    file.write_text("http {\n server {\n location / {\n  proxy_pass http://realmgate;\n}}}\n")
    code, said = examine(
        tmp_path,
        *("--nginx", str(file), "--output", "json"),
        client_ca_file=pki / "ca.crt",
        client_crl_file=pki / "ca.crl",
    )
    report = json.loads(said)
    assert (code, report["result"]) == (1, "wrong")
    by_name = {each["name"]: each for each in report["examinations"]}
    assert by_name["settings"]["outcome"] == by_name["satisfy-any"]["outcome"] == "ok"
    found = by_name["certificate-header"]
    assert found["outcome"] == "wrong"
    (finding,) = found["findings"]
    assert (finding["file"], finding["line"]) == (str(file), 3)
    assert "ssl-client-cert" in finding["problem"]
    assert "realmgate/proxy-headers.conf" in finding["remedy"]
    assert all(source.startswith("https://github.com/") for source in found["sources"])


def test_a_rules_file_with_errors_is_found(tmp_path: Path, pki: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[sites]]\nname = "a"\n')
    trust = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, guard_file=rules, **trust)
    assert code == 1
    assert re.search(r"^WRONG .*hosts", said, re.MULTILINE), said


def test_a_site_accepting_tokens_for_others_is_a_warning(tmp_path: Path, pki: Path) -> None:
    """An older site keeps working, so the exit code is 0; each way to decide ends the warning."""
    rules = tmp_path / "rules.toml"
    site = '[[sites]]\nname = "old"\nhosts = ["old.example.org"]\nrealms = ["demo"]\n'
    rule = '[[sites.rules]]\nname = "every"\npaths = ["/*"]\n'
    trust = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    warning = "warn  The site old of demo accepts bearer tokens for other services at the rules ev"
    for decided, head, tail in (
        (False, "", ""),
        (True, 'bearer_audience = "site"\n', ""),
        (True, 'bearer_audience = "any"\n', ""),
        (True, "", 'audiences = ["shop"]\n'),
        (True, "", "anonymous = true\n"),
        (True, "", 'accepts = ["certificate"]\n'),
    ):
        rules.write_text(f"{site}{head}{rule}{tail}")
        code, said = examine(tmp_path, guard_file=rules, **trust)
        assert (code, warning in said) == (0, not decided), said
    _, said = examine(tmp_path, "--output", "json", guard_file=rules, **trust)
    outcomes = {each["name"]: each["outcome"] for each in json.loads(said)["examinations"]}
    assert outcomes["site-audiences"] == "ok"


def test_an_installation_for_people_alone_is_in_order(tmp_path: Path) -> None:
    """No authority, no revocation list, and an nginx that asks for no certificate."""
    code, said = examine(tmp_path)
    assert (code, said.count("WRONG")) == (0, 0), said
    assert "ok    No authority of client certificates is configured" in said
    folder = tmp_path / "nginx"
    site = NginxSite(("unix:/run/gateway.sock",), tmp_path)
    render_nginx(site, folder)
    asks = "nginx asks for client certificates, and the"
    code, said = examine(tmp_path, "--nginx", str(folder))
    assert (code, said.count(asks)) == (0, 0), "realms may name authorities after the first start"
    state = {"state_dir": tmp_path / "state", "encryption_key": Secret(KEY)}
    prepare(read_settings(**state, admin_password=Secret("a-password")))
    code, said = examine(tmp_path, "--nginx", str(folder))
    assert (code, said.count(asks)) == (1, 2), said
    render_nginx(replace(site, client_certificates=False), folder)
    code, said = examine(tmp_path, "--nginx", str(folder))
    assert (code, said.count("WRONG")) == (0, 0), said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root examines the gateway of another user")
def test_root_examines_the_gateway_of_another_user(tmp_path: Path, pki: Path) -> None:
    """As after the installation: only root can read nginx's copy of the proxy secret."""
    state = tmp_path / "state"
    (state / "run").mkdir(mode=0o700, parents=True)
    os.chown(state, 1, 1)
    os.chown(state / "run", 1, 1)
    trust = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, **trust)
    assert code == 0, said
    os.chown(state / "run", 2, 2)
    code, said = examine(tmp_path, **trust)
    assert code == 1
    assert f"WRONG {state / 'run'} belongs to another user (uid 2)" in said


def test_secrets_that_others_can_read_are_found(tmp_path: Path, pki: Path) -> None:
    secrets = tmp_path / "state" / "secrets"
    secrets.mkdir(mode=0o700, parents=True)
    (secrets / "encryption.key").write_text("x")
    (secrets / "encryption.key").chmod(0o644)
    code, said = examine(tmp_path, client_ca_file=pki / "ca.crt", client_crl_file=pki / "ca.crl")
    assert code == 1
    assert f"chmod 0600 {secrets / 'encryption.key'}" in said


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("listen", "127.0.0.1:8000", "trusts no proxy"),
        ("redis_url", "redis://127.0.0.1:1", "redis is not available"),
        ("database_url", "postgresql://x@127.0.0.1:1/x", "sql is not available"),
    ],
)
def test_what_cannot_work_is_named(
    tmp_path: Path, pki: Path, name: str, value: str, sentence: str
) -> None:
    trust = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, **trust, **{name: value})
    assert code == 1
    assert sentence in said
    assert said.count("WRONG") == 1


def test_settings_that_cannot_be_used_end_it_with_two(tmp_path: Path) -> None:
    code, said = examine(tmp_path, workers="many")
    assert code == 2
    assert "REALMGATE_WORKERS" in said


def test_a_database_without_its_key_is_found_and_no_key_is_made(tmp_path: Path, pki: Path) -> None:
    code, said = examine(
        tmp_path,
        client_ca_file=pki / "ca.crt",
        client_crl_file=pki / "ca.crl",
        database_url="postgresql://x@127.0.0.1:1/x",
        encryption_key="",
    )
    assert code == 1
    assert "no key that decrypts it" in said
    assert not (tmp_path / "state").exists()


def test_a_database_without_an_administrator_is_found(tmp_path: Path, pki: Path) -> None:
    settings = read_settings(state_dir=tmp_path / "state", encryption_key=Secret(KEY))
    prepare(settings)
    trust = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, **trust)
    assert code == 1
    assert "WRONG The database holds 0 realms and no administrator: set REALMGATE_ADMIN_P" in said
    prepare(replace(settings, admin_password=Secret("a-password")))
    code, said = examine(tmp_path, **trust)
    assert code == 0, said
    assert "The database answers, holds 1 realm, and the key decrypts it." in said


def test_two_authorities_of_one_name_are_found(tmp_path: Path, pki: Path) -> None:
    """One of the realm has the name of another, or of one of the settings."""
    namesakes = [issue("shared root", None, CA) for _ in range(2)]
    authorities = [{"certificate": each.pem} for each in namesakes]
    trust = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    for number, is_shared in ((1, False), (2, True)):
        state = tmp_path / f"{number}"
        file = tmp_path / f"{number}.json"
        document = {"realm": "plant", "enabled": True, "defaultSignatureAlgorithm": "ES256"}
        file.write_text(json.dumps(document | {"certificateAuthorities": authorities[:number]}))
        settings = {"state_dir": state / "state", "encryption_key": Secret(KEY)}
        settings |= {"admin_password": Secret("a-password"), "import_realm": (file,)}
        prepare(read_settings(**settings))
        code, said = examine(state, **trust)
        assert (code, said.count("WRONG")) == ((1, 1) if is_shared else (0, 0)), said
        text = 'WRONG Several authorities have the name "CN=shared root" of the realm plant'
        assert (text in said) is is_shared


def test_users_that_look_alike_are_named(tmp_path: Path, pki: Path) -> None:
    """An earlier version stored them: by the log of the start, and by the doctor."""
    settings = read_settings(
        state_dir=tmp_path / "state",
        encryption_key=Secret(KEY),
        admin_password=Secret("a-password"),
    )
    prepare(settings)
    trust = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, **trust)
    assert code == 0, said
    with closing(sqlite3.connect(tmp_path / "state/realmgate.db")) as connection:
        connection.execute(
            "INSERT INTO users (realm_id, id, username, email, enabled, created_at,"
            " email_verified, document, username_key, email_key)"
            " SELECT id, 'a', 'stra\u00dfe', 'x@a.test', 1, 1, 0, '{}', 'strasse', 'x@a.test'"
            " FROM realms UNION ALL"
            " SELECT id, 'b', 'strasse', '\uff58@a.test', 1, 2, 0, '{}', NULL, 'x@a.test'"
            " FROM realms"
        )
        connection.commit()
    with capture_logs() as logged:
        prepare(settings)
    (warning,) = [entry for entry in logged if entry["event"] == "user names look alike"]
    assert warning["users"] == ["stra\u00dfe", "strasse"]
    code, said = examine(tmp_path, **trust)
    assert code == 1
    assert "2 pairs of users look alike" in said
    assert "'stra\u00dfe' and 'strasse' (username, realm master)" in said


@pytest.mark.parametrize(
    ("days", "sentence"),
    [
        (7, "WRONG The password of the administrator admin expires on 20"),
        (0, "WRONG The password of the administrator admin has expired on 20"),
    ],
)
def test_the_password_of_an_administrator_expires_within_a_week(
    tmp_path: Path, pki: Path, days: int, sentence: str
) -> None:
    rules = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)"
    policy = f"{rules} and forceExpiredPasswordChange({days})"
    file = tmp_path / "master.json"
    file.write_text(json.dumps({"realm": "master", "enabled": True, "passwordPolicy": policy}))
    settings = {
        "state_dir": tmp_path / "state",
        "encryption_key": Secret(KEY),
        "admin_password": Secret("a-password"),
        "import_realm": (file,),
    }
    prepare(read_settings(**settings))
    authorities = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, **authorities)
    assert (code, said.count("WRONG")) == (1, 1), said
    assert sentence in said
    assert "or run realmgate user set-password admin --realm master." in said


def test_a_host_name_of_two_realms_is_found(tmp_path: Path, pki: Path) -> None:
    """A former version let realms share a name by different ports."""
    sites = [{"name": "wiki", "hosts": ["wiki.example.org"], "rules": []}]
    realms = [
        {"realm": "master", "enabled": True},
        {"realm": "one", "enabled": True, "guardSites": sites},
        {"realm": "two", "enabled": True, "guardSites": [sites[0] | {"hosts": ["b.org"]}]},
    ]
    (tmp_path / "realms.json").write_text(json.dumps(realms))
    settings = {
        "state_dir": tmp_path / "state",
        "encryption_key": Secret(KEY),
        "admin_password": Secret("a-password"),
        "import_realm": (tmp_path / "realms.json",),
    }
    prepare(read_settings(**settings))
    authorities = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, **authorities)
    assert (code, said.count("WRONG")) == (0, 0), said
    assert "Each of 2 hosts of sites belongs to one realm or to the rules file." in said
    with closing(sqlite3.connect(tmp_path / "state/realmgate.db")) as database, database:
        for statement in (
            "UPDATE sites SET document = replace(document, 'b.org', 'wiki.example.org:1')",
            "UPDATE site_hosts SET host = replace(host, 'b.org', 'wiki.example.org:1')",
        ):
            database.execute(statement)
    code, said = examine(tmp_path, **authorities)
    claims = "the site wiki of the realm one, the site wiki of the realm two"
    assert (code, said.count("WRONG")) == (1, 1), said
    assert f"WRONG Hosts of several owners: wiki.example.org is a host of {claims}" in said


def test_gateway_hosts_and_shared_cookie_domains_are_found(tmp_path: Path, pki: Path) -> None:
    """A former version let realms have them; a wildcard of the operator is no mistake."""
    wiki = {"name": "wiki", "hosts": ["wiki.example.org"], "rules": [], "client": "wiki"}
    shared = {"cookieDomain": "example.org"}
    other = {"hosts": ["b.x.org", "c.x.org"], "cookieDomain": "x.org"}
    realms = [
        {"realm": "master", "enabled": True},
        {"realm": "one", "enabled": True, "guardSites": [wiki | shared]},
        {"realm": "two", "enabled": True, "guardSites": [wiki | other]},
    ]
    (tmp_path / "realms.json").write_text(json.dumps(realms))
    (tmp_path / "rules.toml").write_text(
        '[[sites]]\nname = "all"\nhosts = ["*.gateway.test", "gateway.test"]\nrealms = ["one"]\n'
    )
    settings = {
        "state_dir": tmp_path / "state",
        "encryption_key": Secret(KEY),
        "admin_password": Secret("a-password"),
        "import_realm": (tmp_path / "realms.json",),
    }
    prepare(read_settings(**settings))
    further = {
        "client_ca_file": pki / "ca.crt",
        "client_crl_file": pki / "ca.crl",
        "guard_file": tmp_path / "rules.toml",
        "public_url": "https://id.gateway.test",
    }
    code, said = examine(tmp_path, **further)
    assert (code, said.count("WRONG")) == (0, 0), said
    with closing(sqlite3.connect(tmp_path / "state/realmgate.db")) as database, database:
        for statement in (
            "UPDATE sites SET document = replace(document, 'x.org', 'x.example.org')",
            "UPDATE site_hosts SET host = replace(host, 'x.org', 'x.example.org')",
        ):
            database.execute(statement)
    code, said = examine(tmp_path, **further, mtls_public_url="https://b.x.example.org:9443")
    assert (code, said.count("WRONG")) == (1, 1), said
    assert "b.x.example.org is a host of the gateway, the site wiki of the realm two" in said
    assert "The site wiki of one and the site wiki of two share cookies by the domains" in said
    assert "gateway.test of" not in said


def test_clients_that_share_certificates_are_found(tmp_path: Path, pki: Path) -> None:
    """Equal names and overlapping templates; names of clients that registered do not count."""
    prefix = "realmgate.certificate."
    bound = {"tls.client.certificate.bound.access.tokens": "true"}
    names = {
        "first": {f"{prefix}san.dns": "one.example"},
        "second": {f"{prefix}san.dns": "ONE.example"},
        "third": {f"{prefix}san.dns": "registered.example"},
        "registered": {f"{prefix}san.dns": "registered.example"},
        "fleet": {f"{prefix}template": "urn://fleet/{device}", **bound},
        "every": {f"{prefix}template": "urn://{site}/{device}", **bound},
        "device": {f"{prefix}san.uri": "urn://fleet/7"},
        "alone": {f"{prefix}san.uri": "urn:alone"},
    }
    clients = [
        {"clientId": name, "clientAuthenticatorType": "client-x509", "attributes": attributes}
        for name, attributes in names.items()
    ]
    file = tmp_path / "realm.json"
    file.write_text(json.dumps({"realm": "master", "enabled": True, "clients": clients}))
    settings = {
        "state_dir": tmp_path / "state",
        "encryption_key": Secret(KEY),
        "admin_password": Secret("a-password"),
        "import_realm": (file,),
    }
    prepare(read_settings(**settings))
    with closing(sqlite3.connect(tmp_path / "state/realmgate.db")) as database, database:
        token = "UPDATE clients SET registration_token_id = 'x' WHERE client_id = 'registered'"
        database.execute(token)
    authorities = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    code, said = examine(tmp_path, **authorities)
    assert (code, said.count("WRONG")) == (0, 0), said
    for pair in ("first and second", "every and fleet", "device and every", "device and fleet"):
        assert f"A certificate can belong to the clients {pair} of the realm master" in said
    assert said.count("A certificate can belong to the clients") == 4
