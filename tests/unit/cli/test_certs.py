"""`realmgate certs`, judged by openssl."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner, Result
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.cli.certs import certs
from gateway.crypto.x509.development_pki import read_authority
from gateway.crypto.x509.issuing import (
    CertificatePurpose,
    KeyAlgorithm,
    ValidityPeriod,
    generate_key,
    issue_end_entity,
)

FILES = {
    *(
        f"{name}.{kind}"
        for name in ("root", "issuing", "server", "user")
        for kind in ("crt", "key")
    ),
    *(f"device-{number}.{kind}" for number in (1, 2) for kind in ("crt", "key")),
    "ca.crt",
    "ca.crl",
}


def run(*arguments: str, standard_input: bytes | None = None) -> Result:
    return CliRunner().invoke(certs, arguments, input=standard_input)


def openssl(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["openssl", *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=20
    )


def verify(directory: Path, certificate: str, purpose: str) -> str:
    """Return openssl's last word on a certificate."""
    result = openssl(
        *("verify", "-x509_strict", "-crl_check_all", "-purpose", purpose),
        *("-CAfile", "ca.crt", "-CRLfile", "ca.crl", certificate),
        cwd=directory,
    )
    return (result.stdout + result.stderr).strip()


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def crl_numbers(directory: Path) -> list[int]:
    blocks = (directory / "ca.crl").read_bytes().split(b"-----END X509 CRL-----\n")[:-1]
    lists = [x509.load_pem_x509_crl(block + b"-----END X509 CRL-----\n") for block in blocks]
    return [
        item.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number for item in lists
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a PKI that no test changes."""
    path = tmp_path_factory.mktemp("pki") / "certs"
    result = run("init", "--directory", str(path), "--name", "gw.example.org", "--name", "10.1.2.3")
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def directory(made: Path, tmp_path: Path) -> Path:
    """Return a PKI of the test's own."""
    return Path(shutil.copytree(made, tmp_path / "certs"))


def test_init_makes_a_pki_that_openssl_accepts(directory: Path) -> None:
    """RFC 5280 §6.1, strictly, with revocation checked for every link of the chain."""
    assert {path.name for path in directory.iterdir()} == FILES
    for name in ("device-1.crt", "device-2.crt", "user.crt"):
        assert verify(directory, name, "sslclient") == f"{name}: OK"
    assert verify(directory, "server.crt", "sslserver") == "server.crt: OK"
    assert "unsuitable certificate purpose" in verify(directory, "server.crt", "sslclient")
    assert "unsuitable certificate purpose" in verify(directory, "user.crt", "sslserver")


@pytest.mark.parametrize(
    ("certificate", "subject"),
    [
        ("device-1.crt", "CN=device-1,OU=Devices,O=Realmgate Demonstration"),
        ("device-2.crt", "CN=device-2,OU=Devices,O=Realmgate Demonstration"),
        ("user.crt", "CN=alice,OU=People,O=Realmgate Demonstration"),
    ],
)
def test_demonstration_certificates_match_the_realm_file(
    directory: Path, certificate: str, subject: str
) -> None:
    result = openssl(
        *("x509", "-noout", "-subject", "-nameopt", "RFC2253", "-in", certificate), cwd=directory
    )
    assert result.stdout.strip() == f"subject={subject}"


def test_the_alternative_names_are_what_clients_look_for(directory: Path) -> None:
    """RFC 6125: a server is found by its SAN alone; device-2 carries a SPIFFE ID and a DNS name."""

    def alternative_names(certificate: str) -> str:
        return openssl(
            *("x509", "-noout", "-ext", "subjectAltName", "-in", certificate), cwd=directory
        ).stdout

    server, device = alternative_names("server.crt"), alternative_names("device-2.crt")
    for name in ("localhost", "127.0.0.1", "0:0:0:0:0:0:0:1", "gw.example.org", "10.1.2.3"):
        assert name in server
    assert "URI:spiffe://demo.realmgate.test/device-2" in device
    assert "DNS:device-2.demo.realmgate.test" in device


def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    """Whatever the umask; the certificates stay readable for nginx."""
    path = tmp_path / "certs"
    before = os.umask(0o077)
    try:
        assert run("init", "--directory", str(path)).exit_code == 0
        os.umask(0)
        assert run("client", "press", "--directory", str(path)).exit_code == 0
    finally:
        os.umask(before)
    modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in path.iterdir()}
    assert {mode for name, mode in modes.items() if name.endswith(".key")} == {0o600}
    assert {mode for name, mode in modes.items() if not name.endswith(".key")} == {0o644}
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert run("init", "--directory", str(tmp_path)).exit_code == 0
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_init_refuses_to_overwrite_and_changes_nothing(directory: Path) -> None:
    before = contents(directory)
    result = run("init", "--directory", str(directory))
    assert result.exit_code == 2
    assert "already has" in result.output
    assert "--force" in result.output
    assert contents(directory) == before


def test_init_refuses_when_a_single_file_of_a_pki_is_there(tmp_path: Path) -> None:
    """A root key whose certificate was lost is still somebody's key."""
    (tmp_path / "root.key").write_text("precious")
    assert run("init", "--directory", str(tmp_path)).exit_code == 2
    assert contents(tmp_path) == {"root.key": b"precious"}


def test_force_replaces_the_pki_and_leaves_other_files(directory: Path) -> None:
    (directory / "README.md").write_text("kept")
    before = contents(directory)
    assert run("init", "--directory", str(directory), "--force").exit_code == 0
    after = contents(directory)
    assert after["README.md"] == b"kept"
    assert all(after[name] != before[name] for name in FILES)
    assert set(after) == {*FILES, "README.md"}


@pytest.mark.parametrize("name", ["bad name", "-x.example", "a..b", "", "ex\nample", "a" * 300])
def test_a_faulty_server_name_is_refused_and_nothing_is_made(tmp_path: Path, name: str) -> None:
    result = run("init", "--directory", str(tmp_path / "certs"), f"--name={name}")
    assert result.exit_code == 2
    assert "neither a DNS name nor an IP address" in result.output
    assert not (tmp_path / "certs").exists()


def test_authorities_have_rsa_keys_and_all_others_p256(
    directory: Path,
) -> None:
    assert run("client", "press", "--directory", str(directory)).exit_code == 0
    keys = {
        name: json.loads(run("show", str(directory / name), "--output", "json").stdout)["key"]
        for name in ("root.crt", "issuing.crt", "server.crt", "device-1.crt", "press.crt")
    }
    authority, other = "RSA 3072 bits", "EC secp256r1"
    assert list(keys.values()) == [authority, authority, other, other, other]


def test_rsa_is_made_on_request(tmp_path: Path) -> None:
    assert run("init", "--directory", str(tmp_path), "--algorithm", "rsa").exit_code == 0
    assert verify(tmp_path, "device-1.crt", "sslclient") == "device-1.crt: OK"
    text = openssl("x509", "-noout", "-text", "-in", "device-1.crt", cwd=tmp_path).stdout
    assert "Public-Key: (2048 bit)" in text
    assert run("client", "press", "--directory", str(tmp_path)).exit_code == 0
    text = openssl("x509", "-noout", "-text", "-in", "press.crt", cwd=tmp_path).stdout
    assert "Public-Key: (2048 bit)" in text


def test_client_issues_a_certificate_of_given_names_and_days(directory: Path) -> None:
    result = run(
        *("client", "press-7", "--directory", str(directory), "--days", "3"),
        *("--dns", "press-7.example.org", "--uri", "spiffe://example.org/press-7"),
    )
    assert result.exit_code == 0, result.output
    assert verify(directory, "press-7.crt", "sslclient") == "press-7.crt: OK"
    shown = json.loads(run("show", str(directory / "press-7.crt"), "--output", "json").stdout)
    assert shown["subject"] == "CN=press-7,OU=Devices,O=Realmgate Demonstration"
    assert shown["subject_alternative_names"] == [
        "URI:spiffe://example.org/press-7",
        "DNS:press-7.example.org",
    ]
    seconds = str(3 * 86400)
    still = openssl("x509", "-checkend", "0", "-in", "press-7.crt", cwd=directory)
    gone = openssl("x509", "-checkend", seconds, "-in", "press-7.crt", cwd=directory)
    assert (still.returncode, gone.returncode) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("device-1",), "already has device-1.crt"),
        (("root",), "are taken"),
        (("ca",), "are taken"),
        (("../root",), "cannot name"),
        (("a/b",), "cannot name"),
        (("",), "cannot name"),
        (("press", "--dns", "a b"), "neither a DNS name"),
        (("press", "--uri", "no-scheme"), "not an absolute URI"),
        (("press", "--uri", "a:b\nc"), "not an absolute URI"),
        (("press", "--days", "0"), "--days"),
        (("press", "--days", "1825"), "outlive"),
    ],
)
def test_a_faulty_client_order_exits_2_and_changes_nothing(
    directory: Path, arguments: tuple[str, ...], reason: str
) -> None:
    before = contents(directory)
    result = run("client", *arguments, "--directory", str(directory))
    assert result.exit_code == 2
    assert reason in result.output
    assert contents(directory) == before


def test_server_reissues_its_certificate_with_further_names(
    directory: Path,
) -> None:
    before = contents(directory)
    result = run("server", "--directory", str(directory), "--name", "app.localhost")
    assert result.exit_code == 0, result.output
    assert verify(directory, "server.crt", "sslserver") == "server.crt: OK"
    shown = json.loads(run("show", str(directory / "server.crt"), "--output", "json").stdout)
    assert shown["subject_alternative_names"] == [
        *("DNS:localhost", "IP:127.0.0.1", "IP:::1"),
        *("DNS:gw.example.org", "IP:10.1.2.3", "DNS:app.localhost"),
    ]
    after = contents(directory)
    assert {name for name in FILES if after[name] != before[name]} == {"server.crt", "server.key"}


def test_server_may_wait_for_a_missing_name_or_a_near_expiry(
    directory: Path,
) -> None:
    """Server certificates live 397 days."""
    before = contents(directory)
    common = ("server", "--directory", str(directory), "--if-expiring-within")
    assert run(*common, "396", "--name", "gw.example.org").exit_code == 0
    assert contents(directory) == before
    assert run(*common, "396", "--name", "app.localhost").exit_code == 0
    named = contents(directory)
    assert named["server.crt"] != before["server.crt"]
    assert run(*common, "397").exit_code == 0
    assert contents(directory)["server.crt"] != named["server.crt"]


def test_revoke_makes_openssl_refuse_the_certificate(directory: Path) -> None:
    """RFC 5280 §5.2.3: the number increases; asking again changes nothing."""
    assert run("client", "press", "--directory", str(directory)).exit_code == 0
    first = crl_numbers(directory)
    assert run("revoke", "device-1", "--directory", str(directory)).exit_code == 0
    assert run("revoke", str(directory / "press.crt"), "--directory", str(directory)).exit_code == 0
    for name in ("device-1.crt", "press.crt"):
        assert "certificate revoked" in verify(directory, name, "sslclient")
    assert verify(directory, "device-2.crt", "sslclient") == "device-2.crt: OK"
    assert all(after > before for after, before in zip(crl_numbers(directory), first, strict=True))

    before = contents(directory)
    again = run("revoke", "device-1", "--directory", str(directory))
    assert (again.exit_code, contents(directory)) == (0, before)
    assert "was revoked before" in again.output


def test_a_certificate_of_another_authority_cannot_be_revoked(
    directory: Path, tmp_path: Path
) -> None:
    """A same-named authority with another key is another authority."""
    other = tmp_path / "other"
    assert run("init", "--directory", str(other)).exit_code == 0
    before = contents(directory)
    result = run("revoke", str(other / "device-1.crt"), "--directory", str(directory))
    assert result.exit_code == 2
    assert "not of this PKI" in result.output
    assert contents(directory) == before


def test_crl_issues_the_lists_again_and_keeps_what_was_revoked(directory: Path) -> None:
    assert run("revoke", "device-1", "--directory", str(directory)).exit_code == 0
    before = crl_numbers(directory)
    assert run("crl", "--directory", str(directory)).exit_code == 0
    assert crl_numbers(directory) == [number + 1 for number in before]
    assert "certificate revoked" in verify(directory, "device-1.crt", "sslclient")


def test_crl_may_wait_until_the_lists_are_about_to_expire(directory: Path) -> None:
    """Lists live 30 days: a timer with 7 days of notice does nothing on the first day."""
    before = contents(directory)
    common = ("crl", "--directory", str(directory), "--if-expiring-within")
    assert run(*common, "29").exit_code == 0
    assert contents(directory) == before
    assert run(*common, "30").exit_code == 0
    assert crl_numbers(directory) == [2, 2]


@pytest.mark.parametrize(
    "arguments", [("client", "x"), ("server",), ("revoke", "device-1"), ("crl",), ("show", "x.crt")]
)
def test_without_a_pki_every_command_says_so(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    missing = tmp_path / "none"
    where = () if arguments[0] == "show" else ("--directory", str(missing))
    result = run(*arguments, *where)
    assert result.exit_code == 2
    assert "Error: " in result.output
    assert not missing.exists()


def test_a_folder_that_cannot_be_written_fails_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = run("init", "--directory", str(tmp_path / "file" / "certs"))
    assert result.exit_code == 1
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("form", ["PEM", "escaped", "quoted", "DER", "chain"])
def test_show_reads_every_common_certificate_format(directory: Path, form: str) -> None:
    pem = (directory / "device-2.crt").read_bytes()
    certificate = x509.load_pem_x509_certificate(pem)
    der = certificate.public_bytes(Encoding.DER)
    given = {
        "PEM": pem,
        "escaped": quote(pem).encode(),
        "quoted": b'"' + quote(pem, safe="").encode() + b'"\n',
        "DER": der,
        "chain": pem + (directory / "issuing.crt").read_bytes(),
    }[form]
    result = run("show", "-", "--output", "json", standard_input=given)
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    fingerprint = openssl(
        *("x509", "-noout", "-fingerprint", "-sha256", "-in", "device-2.crt"), cwd=directory
    ).stdout.partition("=")[2]
    assert shown["sha256"] == fingerprint.strip().replace(":", "").lower()
    assert shown["sha256"] == hashlib.sha256(der).hexdigest()
    serial = openssl("x509", "-noout", "-serial", "-in", "device-2.crt", cwd=directory).stdout
    assert shown["serial"].upper() == serial.strip().partition("=")[2].lstrip("0")
    assert shown["issuer"] == "CN=Realmgate Development Issuing CA,O=Realmgate Demonstration"
    assert shown["key"] == "EC secp256r1"


def test_show_prints_a_line_for_each_fact(directory: Path) -> None:
    """RFC 8705 §3.1: x5t#S256 is what a token's `cnf` claim will hold."""
    lines = run("show", str(directory / "device-2.crt")).stdout.splitlines()
    shown = json.loads(run("show", str(directory / "device-2.crt"), "--output", "json").stdout)
    assert f"x5t#S256     {shown['x5t_s256']}" in lines
    assert len(shown["x5t_s256"]) == 43
    assert "SAN          DNS:device-2.demo.realmgate.test" in lines
    assert len(lines) == 10


@pytest.mark.parametrize(
    "given", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n", b"%zz"]
)
def test_show_refuses_what_is_no_certificate(given: bytes) -> None:
    result = run("show", "-", standard_input=given)
    assert result.exit_code == 2
    assert "holds no certificate in PEM or DER\n" in result.output


def test_show_does_not_let_a_certificate_steer_the_terminal(directory: Path) -> None:
    """Whoever made the certificate chose its names: escape sequences must not reach the reader."""
    key = generate_key(KeyAlgorithm.ECDSA)
    certificate = issue_end_entity(
        read_authority(directory, "issuing"),
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a\x1b[2Jb")]),
        key.public_key(),
        ValidityPeriod.starting(datetime.now(UTC), timedelta(days=1)),
        purpose=CertificatePurpose.CLIENT,
        alternative_names=(x509.DNSName("a\x1b[2Jb"),),
    )
    result = run("show", "-", standard_input=certificate.public_bytes(Encoding.PEM))
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert "CN=a\\1B[2Jb" in result.output
    assert "DNS:'a\\x1b[2Jb'" in result.output
