"""`realmgate doctor --url` attacks a running proxy: in vain the shipped one, not a broken one.

The broken nginx has one mistake for each attack, in front of the same gateway and service.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.doctor.attacks import ATTACKS, AttackTarget, NotDone, examine_edge
from gateway.doctor.edge import AttackedEdge, CertificateWithKey, Unreachable, read_certificate
from gateway.doctor.findings import ExaminationOutcome, Finding
from gateway.doctor.nginx_scopes import GatewayFacts, NginxConfiguration, Proxy
from gateway.doctor.nginx_syntax import read_configuration
from gateway.domain.secrets import Secret
from gateway.forward_auth.site_table import SiteTable
from gateway.representations.sites import parse_rules_file
from tests.support.edge_certificates import EdgeCertificates
from tests.support.forked_gateway import run_command
from tests.support.nginx import RunningNginx, changed_source, make_prefix, start_nginx
from tests.support.ports import ADDRESS, free_port
from tests.support.protected_sites import HOST, PROXY_SECRET, Protected, start_protected

DEADLINE = 10.0
NAMES = f"{HOST} {ADDRESS}"
"""Of the protected servers: the address is in the certificate of the PKI."""
BY_NAME = {attack.name: attack for attack in ATTACKS}


@dataclass(frozen=True, slots=True)
class Stack:
    """A protected site as it is shipped, and a broken nginx beside it."""

    protected: Protected
    broken: RunningNginx
    gateway_port: int
    """Of the broken nginx: it forwards everything to the gateway, with the secret."""
    rules: Path

    def certificate(self, name: str) -> CertificateWithKey:
        """Return a certificate of the PKI, or of those that must be refused."""
        return read_certificate(name, self.pem(name))

    def pem(self, name: str) -> Path:
        """Return a file with a certificate and its key."""
        pair = self.protected.certificates.pair(name)
        file = self.rules.parent / f"{name.replace(' ', '-')}.pem"
        file.write_bytes(b"".join(Path(f"{pair}.{end}").read_bytes() for end in ("crt", "key")))
        return file

    def target(self, url: str, nginx: RunningNginx, **known: object) -> AttackTarget:
        """Return a URL of one of the two, with everything that is known about it."""
        sites = SiteTable(parse_rules_file(self.rules.read_bytes(), "rules"))
        gateway = GatewayFacts("ssl-client-cert", Secret(PROXY_SECRET), "unix:/x", is_local=True)
        target = AttackTarget(
            edge=AttackedEdge(url, nginx.site.certificates / "ca.crt"),
            gateway=gateway,
            now=datetime.now(UTC),
            proxy=Proxy(NginxConfiguration(read_configuration(nginx.configuration)), gateway),
            sites=sites,
        )
        return replace(target, **known)  # type: ignore[arg-type] # fields of Target


def _broken_source(folder: Path, service: str, gateway_port: int) -> Path:
    source = changed_source(
        folder,
        {
            "realmgate/guard-request.conf": (
                "X-Forwarded-For $remote_addr;",
                "X-Forwarded-For $http_x_forwarded_for;",
            ),
            "realmgate/guard.conf": ("proxy_set_header Remote-User $realmgate_user;", ""),
            "realmgate/removed-headers.conf": ('proxy_set_header X-WEBAUTH-USER "";', ""),
            "realmgate/tls.conf": ("ssl_session_tickets off;", "ssl_session_tickets on;"),
        },
    )
    main = source / "realmgate.conf"
    mark = "    access_log logs/access.log realmgate;\n"
    head, found, tail = main.read_text().partition(mark)
    assert found
    added = f"""
    server {{
        include realmgate/site/listen-http.conf;
        location / {{
            if ($host = {ADDRESS}) {{
                return 401;
            }}
            proxy_pass {service};
        }}
    }}
    server {{
        listen {ADDRESS}:{gateway_port};
        location / {{
            proxy_set_header X-Realmgate-Proxy-Secret "{PROXY_SECRET}";
            proxy_pass http://realmgate;
        }}
    }}
    server {{
        include realmgate/site/listen-https.conf;
        server_name {NAMES};
        include realmgate/tls.conf;
        include realmgate/client-certificate-optional.conf;
        include realmgate/guard-server.conf;
        location / {{
            include realmgate/guard.conf;
            proxy_pass {service};
        }}
        location ~ [.]css$ {{
            proxy_pass {service};
        }}
        location /bound/ {{
            if ($http_authorization = "") {{
                return 401;
            }}
            proxy_pass {service};
        }}
    }}
    server {{
        include realmgate/site/listen-self-signed.conf;
        server_name {NAMES};
        include realmgate/tls.conf;
        include realmgate/client-certificate-optional-no-ca.conf;
        location / {{
            if ($ssl_client_verify = NONE) {{
                return 401;
            }}
            proxy_pass {service};
        }}
    }}
"""
    main.write_text(f"{head}{mark}{added}{tail}")
    return source


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Stack]:
    """Run gateway, service, the shipped nginx and the broken one."""
    folder = tmp_path_factory.mktemp("attacked")
    with ExitStack() as running:
        edge = {"servers": (NAMES,)}
        protected = running.enter_context(start_protected(folder, edge_certificates, edge))
        broken = running.enter_context(_start_broken(folder / "broken", protected))
        made = Stack(protected, *broken, folder / "rules.toml")
        _name_ports(made)
        yield made


@contextmanager
def _start_broken(folder: Path, protected: Protected) -> Iterator[tuple[RunningNginx, int]]:
    make_prefix(folder)
    port = free_port()
    source = _broken_source(folder, f"http://{protected.service.address}", port)
    certificates: EdgeCertificates = protected.certificates
    with start_nginx(
        folder,
        certificates.folder,
        [f"unix:{protected.gateway.socket}"],
        source=source,
        proxy_secret=PROXY_SECRET,
    ) as nginx:
        yield nginx, port


def _name_ports(stack: Stack) -> None:
    """Add the host with each port to the rules, as a client with a URL sends it."""
    ports = [
        port
        for nginx in (stack.protected.nginx, stack.broken)
        for port in (nginx.site.https_port, nginx.site.self_signed_port, nginx.site.http_port)
    ]
    hosts = ", ".join(f'"{ADDRESS}:{port}"' for port in ports)
    text = stack.rules.read_text()
    stack.rules.write_text(text.replace(f'hosts = ["{HOST}"]', f'hosts = ["{HOST}", {hosts}]'))
    end = time.monotonic() + DEADLINE
    host = f"{ADDRESS}:{stack.protected.nginx.site.https_port}"
    while stack.protected.ask("/public/", host=host).status_code != 200:
        assert time.monotonic() < end, "the new rules are not in force"
        time.sleep(0.05)


def url_of(nginx: RunningNginx, path: str, listener: str = "https") -> str:
    """Return a URL of the site."""
    scheme = "http" if listener == "http" else "https"
    return f"{scheme}://{ADDRESS}:{getattr(nginx.site, f'{listener}_port')}{path}"


def attack(name: str, target: AttackTarget) -> list[Finding]:
    """Run one attack."""
    return list(BY_NAME[name].run(target))


def test_every_attack_on_the_shipped_configuration_is_repelled(stack: Stack) -> None:
    nginx = stack.protected.nginx
    bound = Secret(stack.protected.bound_token("device-1"))
    good = stack.certificate("device-1")
    target = stack.target(url_of(nginx, "/bound/"), nginx, certificate=good, token=bound)
    found = {each.name: each for each in examine_edge(target)}
    assert [each for each in found.values() if each.outcome is ExaminationOutcome.WRONG] == []
    assert {
        name for name, each in found.items() if each.outcome is ExaminationOutcome.OK
    } == DONE, found
    bad = tuple(map(stack.certificate, ("expired", "revoked", "same-named CA with another key")))
    machines = stack.target(url_of(nginx, "/machines/"), nginx)
    assert (
        attack("bad-certificates", replace(machines, certificate=good, bad_certificates=bad)) == []
    )
    assert attack("forged-identity", stack.target(url_of(nginx, "/public/echo"), nginx)) == []


DONE = {"forged-headers", "paths", "unknown-host", "resumed-session", "stolen-token"}
"""Attacks that can be done with a bound token on a path that requires one."""


@pytest.mark.parametrize(
    ("name", "path", "listener", "problem"),
    [
        ("forged-headers", "/home/", "https", "a caller's own X-Forwarded-For"),
        ("forged-identity", "/public/echo", "https", "a caller's own Remote-User"),
        ("forged-identity", "/public/echo", "https", "a caller's own X-WEBAUTH-USER"),
        ("paths", "/home/", "https", "realmgate-doctor.css is answered without a credential"),
        ("unknown-host", "/", "http", "answered to a request for realmgate-doctor.invalid"),
        ("bad-certificates", "/", "self_signed", "accepts a certificate of another authority"),
        ("resumed-session", "/home/", "https", "resumes TLS sessions with client certificates"),
        ("stolen-token", "/bound/", "https", "accepts the bound token without its certificate"),
        ("direct-access", "/home/", "https", "trusts ssl-client-cert, X-Forwarded-For"),
    ],
)
def test_an_attack_finds_the_mistake_that_it_is_for(
    stack: Stack, name: str, path: str, listener: str, problem: str
) -> None:
    target = stack.target(
        url_of(stack.broken, path, listener),
        stack.broken,
        certificate=stack.certificate("device-1"),
        token=Secret(stack.protected.bound_token("device-1")) if name == "stolen-token" else None,
    )
    if name == "direct-access":
        gateway = replace(target.gateway, listen=f"{ADDRESS}:{stack.gateway_port}")
        target = replace(target, gateway=gateway, proxy=None)
    findings = attack(name, target)
    assert any(problem in finding.problem for finding in findings), findings
    assert all(finding.remedy for finding in findings)


def test_a_finding_names_the_location_at_fault(stack: Stack) -> None:
    target = stack.target(url_of(stack.broken, "/home/"), stack.broken)
    places = [finding.place for finding in attack("forged-headers", target) if finding.place]
    assert places
    assert {place.file for place in places} == {str(stack.broken.configuration)}


@pytest.mark.parametrize(
    ("name", "known", "reason"),
    [
        ("bad-certificates", {}, "--certificate FILE"),
        ("resumed-session", {}, "--certificate FILE"),
        ("stolen-token", {}, "--token FILE"),
        ("forged-identity", {}, "no service shows the headers"),
        ("direct-access", {}, "no TCP port"),
        ("paths", {"sites": None}, "no site has the host"),
    ],
)
def test_an_attack_without_its_prerequisite_is_not_counted(
    stack: Stack, name: str, known: dict[str, object], reason: str
) -> None:
    nginx = stack.protected.nginx
    target = stack.target(url_of(nginx, "/home/"), nginx, **known)
    with pytest.raises(NotDone, match=reason):
        attack(name, target)


def test_a_proxy_that_does_not_answer_is_a_problem(stack: Stack) -> None:
    nginx = stack.protected.nginx
    target = stack.target(f"https://{ADDRESS}:{free_port()}/", nginx)
    (examination,) = examine_edge(target)
    assert examination.outcome is ExaminationOutcome.WRONG
    untrusted = replace(target, edge=AttackedEdge(url_of(nginx, "/")))
    (examination,) = examine_edge(untrusted)
    assert "--ca FILE" in examination.findings[0].problem


def test_localhost_names_are_local_and_a_wrong_name_is_reported(
    stack: Stack,
) -> None:
    site = stack.protected.nginx.site
    edge = AttackedEdge(f"https://other.localhost:{site.https_port}/", site.certificates / "ca.crt")
    with pytest.raises(Unreachable, match=r"not valid for 'other\.localhost'\.$"):
        edge.ask()


def test_the_host_of_the_url_may_be_elsewhere(stack: Stack) -> None:
    site = stack.protected.nginx.site
    url = f"https://localhost:{site.https_port}/realms/staff"
    edge = AttackedEdge(url, site.certificates / "ca.crt", ADDRESS)
    assert edge.ask().status == 200
    assert edge.ask(host=f"{ADDRESS}:{site.https_port}").status == 403


def test_the_command_attacks_with_the_rules_of_the_installation(stack: Stack) -> None:
    nginx, gateway = stack.protected.nginx, stack.protected.gateway
    certificates = stack.protected.certificates.folder
    token = stack.rules.parent / "token"
    token.write_text(stack.protected.bound_token("device-1"))
    done = run_command(
        [
            *("doctor", "--nginx", str(nginx.configuration), "--output", "json"),
            *("--url", url_of(nginx, "/bound/")),
            *("--ca", str(certificates / "ca.crt"), "--token", str(token)),
            *("--certificate", str(stack.pem("device-1")), "--revoked", str(stack.pem("revoked"))),
        ],
        cwd=stack.rules.parent,
        env={
            "PATH": os.environ["PATH"],
            "REALMGATE_STATE_DIR": str(gateway.state_dir),
            "REALMGATE_GUARD_FILE": str(stack.rules),
            "REALMGATE_PUBLIC_URL": "https://gateway.test",
            "REALMGATE_CLIENT_CA_FILE": str(certificates / "ca.crt"),
            "REALMGATE_CLIENT_CRL_FILE": str(certificates / "ca.crl"),
            "REALMGATE_PROXY_SECRET": PROXY_SECRET,
        },
        timeout=60,
    )
    report = json.loads(done.stdout)
    wrong = [each for each in report["examinations"] if each["outcome"] == "wrong"]
    assert (done.returncode, wrong) == (0, []), done.stderr
    by_name: dict[str, dict[str, object]] = {each["name"]: each for each in report["examinations"]}
    assert {name for name in BY_NAME if by_name[name]["outcome"] == "ok"} >= DONE
    assert token.read_text() not in done.stdout
