"""The doctor finds the mistake in each broken configuration, and nothing in the shipped ones.

Each file of `broken_nginx/` is a configuration that nginx accepts, with one mistake from a public
thread: its first lines name the check and the thread, `# wrong` marks the line at fault, and
`# also:` a further check that reports the same line.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest

from gateway.cli.nginx import NginxSite, PlainHttp, render_nginx
from gateway.crypto.x509.development_pki import create_pki
from gateway.doctor.findings import Finding
from gateway.doctor.nginx_examinations import CHECKS
from gateway.doctor.nginx_scopes import GatewayFacts, NginxConfiguration, Proxy
from gateway.doctor.nginx_servers import find_server_name
from gateway.doctor.nginx_syntax import Directive, read_configuration, read_dump
from gateway.domain.forward_auth import Site
from gateway.domain.secrets import Secret
from gateway.forward_auth.site_table import SiteTable, settled_table
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import make_prefix, make_site, nginx_command

ROOT = Path(__file__).resolve().parents[2]
DOCTOR = ROOT / "gateway/doctor"
BROKEN = Path(__file__).parent / "broken_nginx"
SECRET = "known-to-the-proxy-and-the-gateway-alone"
GATEWAY = GatewayFacts(
    certificate_header="ssl-client-cert",
    proxy_secret=Secret(SECRET),
    listen="unix:/run/realmgate/gateway.sock",
    is_local=True,
)


def _site(name: str, *hosts: str) -> Site:
    return Site(name, hosts, ("demo",), ())


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken configuration: which check must find it, and in which line."""

    name: str
    check: str
    source: str
    line: int
    also: str | None


def _broken(file: Path) -> Broken:
    text = file.read_text()
    (check,) = re.findall(r"^# check: (.+)$", text, re.MULTILINE)
    (source,) = re.findall(r"^# source: (.+)$", text, re.MULTILINE)
    lines = text.splitlines()
    (wrong,) = (number for number, line in enumerate(lines, 1) if line.endswith("# wrong"))
    also = re.search(r"# also: (\S+)$", text, re.MULTILINE)
    return Broken(file.name, check, source, wrong, also and also[1])


ALL = sorted((_broken(file) for file in BROKEN.glob("*.conf")), key=lambda each: each.name)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates) -> Path:
    """Return a folder with the broken configurations beside a rendered one."""
    prefix = make_prefix(tmp_path_factory.mktemp("broken"))
    site = make_site(
        edge_certificates.folder, ["unix:/run/realmgate/gateway.sock"], proxy_secret=SECRET
    )
    render_nginx(site, prefix / "nginx")
    shutil.copytree(BROKEN, prefix / "nginx", dirs_exist_ok=True)
    (prefix / "nginx/certs").symlink_to(edge_certificates.folder)
    return prefix / "nginx"


def found(
    directives: tuple[Directive, ...],
    gateway: GatewayFacts = GATEWAY,
    sites: SiteTable | None = None,
) -> Iterator[tuple[str, Finding]]:
    """Yield the name of the check with each finding."""
    proxy = Proxy(NginxConfiguration(directives), gateway, sites)
    return ((check.name, finding) for check in CHECKS for finding in check.find(proxy))


@pytest.mark.parametrize("broken", ALL, ids=lambda broken: broken.name)
def test_the_mistake_is_found_in_its_line_and_nothing_else(folder: Path, broken: Broken) -> None:
    file = folder / broken.name
    findings = list(found(read_configuration(file)))
    names = {name for name, _ in findings} - {broken.also}
    assert names == {broken.check}, findings
    (finding,) = (finding for name, finding in findings if name == broken.check)
    assert finding.place is not None
    assert (finding.place.file, finding.place.line) == (str(file), broken.line), finding
    assert finding.problem
    assert finding.remedy
    assert SECRET not in repr(finding)


@pytest.mark.parametrize("broken", ALL, ids=lambda broken: broken.name)
def test_nginx_accepts_it(folder: Path, broken: Broken) -> None:
    command = nginx_command(folder.parent, folder / broken.name, "-t")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode == 0, done.stderr


def test_every_check_has_a_broken_file_and_a_public_source() -> None:
    assert {broken.check for broken in ALL} == {check.name for check in CHECKS}
    sources = {source for check in CHECKS for source in check.sources}
    assert {broken.source for broken in ALL} <= sources
    page = (ROOT / "docs/doctor.md").read_text()
    for broken in ALL:
        assert f"| `{broken.check}` |" in page
        assert f"({broken.source}) | [{broken.name.removesuffix('.conf')}](" in page
    modules = [import_module(f"gateway.doctor.{path.stem}") for path in DOCTOR.glob("nginx_*.py")]
    values = [value for module in modules for value in vars(module).items()]
    found = {value for name, value in values if name.startswith("find_")}
    assert found == {check.find for check in CHECKS}


@pytest.mark.parametrize("header", ["ssl-client-cert", "x-client-certificate"])
@pytest.mark.parametrize("plain_http", list(PlainHttp))
def test_nothing_is_found_in_the_shipped_configuration(
    tmp_path: Path, header: str, plain_http: PlainHttp
) -> None:
    site = NginxSite(
        ("unix:/run/gateway.sock", "10.0.0.7:8000"),
        tmp_path,
        proxy_secret=SECRET,
        certificate_header=header,
        plain_http=plain_http,
    )
    main = render_nginx(site, tmp_path / "nginx")
    gateway = replace(GATEWAY, certificate_header=header)
    assert list(found(read_configuration(main), gateway)) == []


@pytest.mark.parametrize("decisions", ["server", "cache"])
@pytest.mark.parametrize("verification", ["required", "optional", "optional-no-ca"])
def test_nothing_is_found_in_a_protected_site(
    folder: Path, verification: str, decisions: str
) -> None:
    main = folder / f"protected-{verification}-{decisions}.conf"
    main.write_text(f"""
events {{}}
http {{
    include shared/http.conf;
    include realmgate/guard-cache-zone.conf;
    server {{
        include realmgate/site/listen-https.conf;
        server_name app.example.org;
        include realmgate/tls.conf;
        include realmgate/client-certificate-{verification}.conf;
        include realmgate/guard-{decisions}.conf;

        location / {{
            include realmgate/guard.conf;
            proxy_pass http://127.0.0.1:3000;
        }}
        location /socket/ {{
            include realmgate/guard.conf;
            proxy_read_timeout 1h;
            proxy_pass http://127.0.0.1:3000;
        }}
    }}
}}
""")
    assert list(found(read_configuration(main))) == []


_SITES = settled_table(
    [_site("app", "app.example.org", "www.example.org"), _site("apps", "*.apps.example.org")],
    [_site("dot", "dot.example.org", "*.dot.example.org"), _site("shop", "shop.example.org")],
)
_NAMES = {
    "app.example.org": [],
    "App.Example.org www.example.org": [],
    'app.example.org "" _': [],
    "*.apps.example.org": [],
    "one.apps.example.org two.apps.example.org": [],
    ".dot.example.org": [],
    "dot.example.org *.dot.example.org": [],
    "$hostname": [],
    "": ["no name"],
    "_": ["no name"],
    '"" app.example.org': ["no name"],
    "~^app[.]example[.]org$ app.example.org": ["the first name ~^app"],
    "app.example.*": ["the first name app.example.*"],
    "free.example.org": ["no site has its host free.example.org"],
    "*.example.org": ["no site has its host *.example.org"],
    ".app.example.org": ["its name *.app.example.org is of no site"],
    "app.example.org shop.example.org": ["its name shop.example.org is of the site shop"],
    "app.example.org free.example.org *.example.org": [
        "its name free.example.org is of no site",
        "its name *.example.org is of no site",
    ],
}


@pytest.mark.parametrize("listen", ["443 ssl", "443 ssl default_server"])
def test_the_names_of_a_server_are_those_of_one_site(folder: Path, listen: str) -> None:
    main = folder / "names.conf"
    for names, expected in _NAMES.items():
        main.write_text(f"""
http {{
    include shared/http.conf;
    server {{
        listen {listen};
        {f"server_name {names};" if names else ""}
        include realmgate/tls.conf;
        include realmgate/client-certificate-optional.conf;
        include realmgate/guard-server.conf;
        location / {{
            include realmgate/guard.conf;
            proxy_pass http://127.0.0.1:3000;
        }}
    }}
}}
""")
        findings = list(found(read_configuration(main), sites=_SITES))
        assert {name for name, _ in findings} <= {"server-name"}, (names, findings)
        problems = [finding.problem for _, finding in findings]
        assert len(problems) == len(expected), (names, problems)
        for problem, part in zip(problems, expected, strict=True):
            assert part in problem, (names, problem)


@pytest.mark.parametrize(
    ("hosts", "services", "problems"),
    [
        (("app.example.org",), ("3000", "3000"), 0),
        (("app.example.org",), ("3000", "3001"), 1),
        (("app.example.org", "app.example.org:8443"), ("3000", "3001"), 0),
        (("*.example.org",), ("3000", "3001"), 1),
    ],
)
def test_one_site_decides_about_one_service_of_a_name(
    folder: Path, hosts: tuple[str, ...], services: tuple[str, str], problems: int
) -> None:
    servers = "".join(
        f"""
    server {{
        listen {port} ssl;
        server_name app.example.org;
        include realmgate/tls.conf;
        include realmgate/client-certificate-optional.conf;
        include realmgate/guard-server.conf;
        location / {{
            include realmgate/guard.conf;
            proxy_pass http://127.0.0.1:{service};
        }}
    }}"""
        for port, service in zip(("443", "8443"), services, strict=True)
    )
    main = folder / "ports.conf"
    main.write_text(f"http {{ include shared/http.conf; {servers} }}")
    findings = list(found(read_configuration(main), sites=settled_table([_site("s", *hosts)], [])))
    assert len(findings) == problems, findings


@pytest.mark.parametrize("forwards", [True, False])
@pytest.mark.parametrize("is_former", [True, False])
def test_former_files_pass_a_token_that_a_site_removes(
    folder: Path, *, forwards: bool, is_former: bool
) -> None:
    guard = folder / "realmgate/guard.conf"
    lines = guard.read_text().splitlines(keepends=True)
    former = (line for line in lines if "Authorization" not in line)
    (folder / "former.conf").write_text("".join(former if is_former else lines))
    main = folder / "token.conf"
    main.write_text("""
http {
    include shared/http.conf;
    server {
        include shared/protected-server.conf;
        location / {
            include former.conf;
            proxy_pass http://127.0.0.1:3000;
        }
    }
}
""")
    site = replace(_site("wiki", "app.example.org"), forward_authorization=forwards)
    findings = list(found(read_configuration(main), sites=settled_table([site], [])))
    expected = ["authorization-header"] if is_former and not forwards else []
    assert [name for name, _ in findings] == expected, findings


@pytest.mark.parametrize(
    ("directive", "safe", "name"),
    [
        ("underscores_in_headers", "off", "Remote_User"),
        ("ignore_invalid_headers", "on", "Remote.User"),
    ],
)
def test_a_default_server_that_lets_spellings_in_is_found(
    folder: Path, directive: str, safe: str, name: str
) -> None:
    main = folder / "default-server.conf"
    for value in ("on", "off"):
        main.write_text(f"""
http {{
    include shared/http.conf;
    include realmgate/guard-cache-zone.conf;
    server {{
        include realmgate/site/listen-https.conf;
        include realmgate/tls.conf;
        include realmgate/client-certificate-optional.conf;
        {directive} {value};
    }}
    server {{
        include shared/protected-server.conf;
        location / {{
            include realmgate/guard.conf;
            proxy_pass http://127.0.0.1:3000;
        }}
    }}
}}
""")
        findings = list(found(read_configuration(main)))
        assert [each for each, _ in findings] == ([] if value == safe else ["header-spelling"])
        assert all(name in finding.problem for _, finding in findings)


@pytest.mark.parametrize("keeps_decisions", [True, False])
def test_nginx_refuses_other_names_beside_kept_decisions(
    folder: Path, *, keeps_decisions: bool
) -> None:
    zone = "include realmgate/guard-cache-zone.conf;" if keeps_decisions else ""
    main = folder / "invalid-names.conf"
    main.write_text(
        f"events {{}} http {{ ignore_invalid_headers off; include shared/http.conf; {zone} }}"
    )
    command = nginx_command(folder.parent, main, "-t")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    assert ('"ignore_invalid_headers" directive is duplicate' in done.stderr) is keeps_decisions
    assert (done.returncode == 0) is not keeps_decisions, done.stderr


def test_the_output_of_nginx_is_read_like_its_files(folder: Path) -> None:
    main = folder / "inherited-headers.conf"
    done = subprocess.run(
        nginx_command(folder.parent, main, "-T"), capture_output=True, text=True, check=True
    )
    assert read_dump(done.stdout) == read_configuration(main)


_CERTIFIED = {
    "app.example.org *.apps.example.org": [],
    "one.apps.example.org APP.example.org": [],
    "_ localhost 127.0.0.1 $hostname app.example.*": [],
    "other.example.org": ["other.example.org"],
    "app.example.org www.example.org": ["www.example.org"],
    "apps.example.org": ["apps.example.org"],
    "a.b.apps.example.org *.example.org": ["a.b.apps.example.org", "*.example.org"],
    ".apps.example.org": ["apps.example.org"],
}


def test_names_that_the_certificate_of_the_server_lacks(folder: Path, tmp_path: Path) -> None:
    names = ("app.example.org", "*.apps.example.org")
    create_pki(tmp_path / "own", now=datetime.now(UTC), names=names)
    main = folder / "certified.conf"
    own = "ssl_certificate own/server.crt;"
    shutil.copytree(tmp_path / "own", folder / "own")
    for listed, missing in _CERTIFIED.items():
        main.write_text(f"""
http {{
    include shared/http.conf;
    server {{
        include shared/gateway-server.conf;
        server_name {listed};
        {own}
        location / {{ include realmgate/gateway.conf; }}
    }}
}}
""")
        proxy = Proxy(NginxConfiguration(read_configuration(main)), GATEWAY, main_file=main)
        problems = [finding.problem for finding in find_server_name(proxy)]
        parts = [re.findall(r"server_name (\S+):", problem) for problem in problems]
        assert parts == [[name] for name in missing], (listed, problems)


def test_a_log_without_a_line_is_said_to_be_the_default(folder: Path) -> None:
    main = folder / "default-log.conf"
    main.write_text("""
http {
    include realmgate/http.conf;
    server {
        include shared/gateway-server.conf;
        location / { include realmgate/gateway.conf; }
    }
}
""")
    ((name, finding),) = found(read_configuration(main))
    assert name == "logged-secrets"
    assert finding.problem.startswith("the server names no access_log"), finding
