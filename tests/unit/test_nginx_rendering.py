"""Rendering the nginx configuration: values nginx would misread are refused, all at once."""

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.nginx import SHIPPED, Http2, NginxSite, render_nginx
from gateway.domain.errors import InvalidInput
from gateway.http.certificate_lookup import NginxLookup

SITE = NginxSite(("unix:/run/gateway.sock",), Path("/srv/certs"))
SHIPPED_SITE = SHIPPED / "realmgate/site"


def test_the_site_files_written_are_the_site_files_shipped() -> None:
    assert set(SITE.files()) == {path.name for path in SHIPPED_SITE.iterdir()}


@pytest.mark.parametrize(
    "name",
    [
        "listen-https.conf",
        "listen-mtls.conf",
        "listen-self-signed.conf",
        "listen-http.conf",
        "public-address.conf",
        "hosts.conf",
        "connection-limit.conf",
        "plain-http.conf",
        "proxy-secret.conf",
        "certificate-header.conf",
        "removed-certificate-headers.conf",
        "decision-salt.conf",
    ],
)
def test_the_defaults_are_the_shipped_ones(name: str) -> None:
    assert SITE.files()[name] == (SHIPPED_SITE / name).read_text()


def test_the_shipped_headers_carry_the_verdict_of_the_lookup() -> None:
    shipped = (SHIPPED / "realmgate/proxy-headers.conf").read_text()
    header = NginxLookup.default_verdict_header
    assert f"proxy_set_header {header} $ssl_client_verify;\n" in shipped


def test_shipped_upstream_and_certificates_differ_in_paths_only() -> None:
    files = SITE.files()
    for name in ("upstream", "server-certificate", "client-authorities"):
        shipped = (SHIPPED_SITE / f"{name}.conf").read_text()
        moved = shipped.replace("../var/certs", "/srv/certs").replace("var/run", "/run")
        assert files[f"{name}.conf"] == moved


def test_everything_but_the_site_is_copied_unchanged(tmp_path: Path) -> None:
    render_nginx(SITE, tmp_path)
    for path in SHIPPED.rglob("*.conf"):
        if path.parent != SHIPPED_SITE:
            assert (tmp_path / path.relative_to(SHIPPED)).read_bytes() == path.read_bytes()


def test_cache_keys_are_unpredictable_without_the_secret(tmp_path: Path) -> None:
    """Callers who knew them could make two requests with the same MD5."""
    salts = set()
    for secret in ("0123456789abcdef", "0123456789abcdeg"):
        render_nginx(replace(SITE, proxy_secret=secret), tmp_path)
        salt = tmp_path / "realmgate/site/decision-salt.conf"
        assert stat.S_IMODE(salt.stat().st_mode) == 0o600
        assert secret not in salt.read_text()
        salts.add(salt.read_text())
    assert len(salts) == 2


def test_the_secret_file_is_private_even_if_it_was_open(tmp_path: Path) -> None:
    secret = tmp_path / "realmgate/site/proxy-secret.conf"
    secret.parent.mkdir(parents=True)
    secret.write_text("old")
    secret.chmod(0o644)
    render_nginx(replace(SITE, proxy_secret="0123456789abcdef"), tmp_path)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert "0123456789abcdef" in secret.read_text()


def test_the_secret_is_not_shown() -> None:
    assert "0123456789abcdef" not in repr(replace(SITE, proxy_secret="0123456789abcdef"))


def test_rendering_again_replaces_the_files_and_leaves_no_draft(tmp_path: Path) -> None:
    render_nginx(SITE, tmp_path)
    render_nginx(replace(SITE, https_port=9443), tmp_path)
    site = tmp_path / "realmgate/site"
    assert (site / "listen-https.conf").read_text() == "listen 9443 ssl http2;\n"
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_http2_is_a_parameter_or_a_directive_of_each_server() -> None:
    addresses = ("127.0.0.1", "[::1]")
    for kind, options, end in (
        (Http2.PARAMETER, " ssl http2", ""),
        (Http2.DIRECTIVE, " ssl", "http2 on;\n"),
    ):
        files = replace(SITE, addresses=addresses, http2=kind).files()
        for name, port in (("https", 8443), ("mtls", 8444), ("self-signed", 8445)):
            lines = "".join(f"listen {address}:{port}{options};\n" for address in addresses)
            assert files[f"listen-{name}.conf"] == lines + end
        assert "http2" not in files["listen-http.conf"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"certificates": Path("relative")}, "certificates"),
        ({"certificates": Path('/quo"te')}, "certificates"),
        ({"certificates": Path("/dollar$host")}, "certificates"),
        ({"certificates": Path("/line\nbreak")}, "certificates"),
        ({"certificates": Path("/no\udcfftext")}, "certificates"),
        ({"upstreams": ()}, "upstream"),
        ({"upstreams": ("unix:relative.sock",)}, "upstream"),
        ({"upstreams": ("unix:/a b.sock",)}, "upstream"),
        ({"upstreams": ("unix:/" + "x" * 107,)}, "upstream"),
        ({"upstreams": ("localhost",)}, "upstream"),
        ({"upstreams": ("localhost:80 backup",)}, "upstream"),
        ({"addresses": ("::1",)}, "address"),
        ({"public_urls": ("id.example.org",)}, "public-url"),
        ({"public_urls": ('https://a";b',)}, "public-url"),
        ({"addresses": ("127.0.0.1; include /etc/passwd",)}, "address"),
        ({"http_port": 8443}, "ports"),
        ({"connections_per_address": 0}, "connections-per-address"),
        ({"proxy_secret": "short"}, "proxy-secret-file"),
        ({"proxy_secret": '0123456789abcdef"; #'}, "proxy-secret-file"),
        ({"user": "root; daemon off"}, "user"),
    ],
)
def test_values_nginx_would_misread_are_refused_unwritten(
    tmp_path: Path, changes: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        render_nginx(replace(SITE, **changes), tmp_path / "out")
    assert [error.path for error in refused.value.errors] == [path]
    assert not (tmp_path / "out").exists()


def test_all_errors_are_reported_together_and_never_the_secret() -> None:
    site = replace(SITE, upstreams=("x",), addresses=("y;",), proxy_secret="low;entropy")
    errors = site.errors()
    assert [error.path for error in errors] == ["upstream", "address", "proxy-secret-file"]
    assert "low;entropy" not in str(errors)


def test_a_source_without_the_main_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"a folder with realmgate\.conf"):
        render_nginx(SITE, tmp_path / "out", tmp_path)


RISKY = st.text(alphabet="aZ09:/.-_[]$\"';{}\\ \n\t\r#\x85\u2028\ud800", max_size=24)


@given(
    upstream=RISKY | RISKY.map("unix:/".__add__) | RISKY.map("[::1]:8".__add__),
    address=RISKY,
    secret=RISKY.map("0123456789abcdef".__add__),
    user=RISKY.map("a".__add__),
    folder=RISKY,
)
def test_whatever_is_accepted_stays_one_parameter(
    upstream: str, address: str, secret: str, user: str, folder: str
) -> None:
    for site in (
        replace(SITE, upstreams=(upstream,)),
        replace(SITE, addresses=(address,)),
        replace(SITE, proxy_secret=secret),
        replace(SITE, user=user),
        replace(SITE, certificates=Path("/", folder)),
    ):
        check_parameters(site)


@given(RISKY | RISKY.map("https://a".__add__) | RISKY.map("https://a/".__add__))
def test_whatever_public_address_is_accepted_stays_one_parameter(url: str) -> None:
    check_parameters(replace(SITE, public_urls=(url,)))


def check_parameters(site: NginxSite) -> None:
    """Check that every line of an accepted site is what nginx should read."""
    if site.errors():
        return
    for text in site.files().values():
        for line in text.encode().splitlines():
            assert line.count(b";") == 1
            assert line.count(b'"') in {0, 2, 4}
            assert not set(line) & {*range(0x20), ord("\\"), ord("'")}
            known = line.count(b"$realmgate_public_") + line.count(b')$" "";')
            known += line.count(b"$realmgate_decision_salt ")
            known += line.count(b"$ssl_client_escaped_cert;")
            assert line.count(b"$") == known
