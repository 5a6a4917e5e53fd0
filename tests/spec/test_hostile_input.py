"""What small hostile inputs cost the worker: memory by its size, work by its processor time."""

import os
import random
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.support.sign_in_browser import CALLBACK
from tests.support.spec_stack import Stack, protocol, refusal
from tests.support.wire import FORM, PASSWORD, SECRET

MOST_GROWTH = 10_000_000
COSTLY = "(?:(?=(.)*(.)*b)|a)a*"
"""Matches a text of `a` after a million steps in vain."""
ATTRIBUTES = 100
EVERYBODY = {"view": ["admin", "user"], "edit": ["admin", "user"]}
CHEAP = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)"
_TICKS = os.sysconf("SC_CLK_TCK")


def memory(stack: Stack) -> int:
    """Return the bytes that the workers have for themselves."""
    sizes = []
    for worker in stack.gateways[0].workers():
        lines = Path(f"/proc/{worker}/status").read_text().splitlines()
        sizes += [int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")]
    assert sizes
    return sum(sizes)


def processor_seconds(stack: Stack) -> float:
    """Return the processor time that the workers have taken."""
    total = 0
    for worker in stack.gateways[0].workers():
        fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def test_many_large_certificates_take_no_memory(spec: Stack, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pairs = [large_certificate(key, number, tmp_path) for number in range(300)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda pair: show(spec, pair), pairs[:50]))
        before = memory(spec)
        list(threads.map(lambda pair: show(spec, pair), pairs[50:]))
    assert memory(spec) - before < MOST_GROWTH


def show(stack: Stack, pair: Path) -> None:
    """Send a request with a client certificate that nobody has seen before."""
    context = ssl.create_default_context(cafile=stack.certificates.folder / "ca.crt")
    context.load_cert_chain(pair)
    path = "/realms/spec/.well-known/openid-configuration"
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    answer = stack.nginx.raw(stack.nginx.site.self_signed_port, request, context)
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]


def large_certificate(key: ec.EllipticCurvePrivateKey, number: int, folder: Path) -> Path:
    """Make a self-signed certificate of many names, with its key, in one file."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"device-{number}")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(number + 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(f"{n}.example") for n in range(330)]),
            critical=False,
        )
    )
    pair = folder / f"{number}.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pair.write_bytes(private + builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    return pair


def test_huge_parameters_and_unknown_languages_take_no_memory(spec: Stack) -> None:
    """attacks: C24. Each is refused, or forgotten with its request."""
    names = ("scope", "state", "nonce", "claims", "ui_locales", "login_hint")
    asked = {"client_id": "web", "response_type": "code", "redirect_uri": CALLBACK}
    path = f"{protocol('browsers')}/auth"
    form = {"Content-Type": FORM}
    huge = f"{urlencode(asked)}&state={'x' * 1_000_000}".encode()

    def flood(http: httpx2.Client, numbers: range) -> None:
        for number in numbers:
            assert http.post(path, content=huge, headers=form).status_code == 413
            for name in names:
                long = {**asked, "scope": "openid", name: f"x{number}-{name} " * 200}
                assert http.get(path, params=long).status_code < 500
            for kind in ("ui_locales", "kc_locale"):
                language = {"prompt": "none", kind: f"x{number}-{'y' * 200}"}
                http.get(path, params={**asked, **language})
            http.get(path, params=asked, headers={"Accept-Language": f"x{number}," * 300})

    with spec.gateways[0].client() as http:
        flood(http, range(10))
        before = memory(spec)
        flood(http, range(10, 50))
        assert memory(spec) - before < MOST_GROWTH


def test_permuted_and_repeated_scopes_take_no_memory(spec: Stack) -> None:
    """attacks: C24."""
    names = ["openid", "email", "profile", "phone", "address", "offline_access"]
    chosen = random.Random(1)  # noqa: S311 - no secret

    def ask() -> None:
        scope = " ".join(chosen.choices(names, k=190))
        form = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
        assert spec.token("spec", form | {"scope": scope}).status_code == 200

    for _ in range(100):
        ask()
    before = memory(spec)
    for _ in range(900):
        ask()
    assert memory(spec) - before < MOST_GROWTH


@pytest.mark.parametrize(
    ("scope", "excess"),
    [("email " * 201, "more than 200 names"), ("x" * 4_001, "longer than 4000 characters")],
)
def test_too_many_names_of_scopes_are_refused(spec: Stack, scope: str, excess: str) -> None:
    form = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
    answer = spec.token("spec", form | {"scope": scope.strip()})
    assert refusal(answer) == (400, "invalid_scope", f"Invalid scopes: {excess}")


def test_costly_patterns_at_sign_ins_do_not_delay_another_realm(spec: Stack) -> None:
    with_patterns(spec, "patterned", ATTRIBUTES)
    with ThreadPoolExecutor(2) as threads:
        before = processor_seconds(spec)
        attempts = [threads.submit(sign_in, spec, "patterned") for _ in range(4)]
        others = [spec.token("spec", CLIENT).status_code for _ in range(20)]
        answers = [attempt.result() for attempt in attempts]
        taken = processor_seconds(spec) - before
    assert set(others) == {200}
    # What the budget leaves unmatched is refused, never accepted.
    assert {refusal(one) for one in answers} == {
        (400, "invalid_grant", "Account is not fully set up")
    }
    assert taken < 1.5


def test_a_costly_pattern_by_itself_is_matched(spec: Stack) -> None:
    with_patterns(spec, "one-pattern", 1)
    assert sign_in(spec, "one-pattern").status_code == 200


def test_values_beyond_the_budget_are_refused_to_administrators(spec: Stack) -> None:
    with_patterns(spec, "written", ATTRIBUTES)
    user = {"username": "bob", "email": "b@x.test", "firstName": "B", "lastName": "B"}
    values = costly_values(ATTRIBUTES)
    before = processor_seconds(spec)
    answer = administer(spec, "POST", "written/users", {**user, "attributes": values})
    assert processor_seconds(spec) - before < 0.5
    assert answer.status_code == 400
    errors = answer.json()["errors"]
    assert len(errors) == ATTRIBUTES - 1
    assert {one["errorMessage"] for one in errors} == {"error-pattern-too-costly"}
    short = {name: ["a"] for name in values}
    created = administer(spec, "POST", "written/users", {**user, "attributes": short})
    assert created.status_code == 201


def test_a_password_policy_of_many_patterns_is_refused(spec: Stack) -> None:
    rules = " and ".join([CHEAP, *["regexPattern([a-\uffff]*)"] * 5])
    administer(spec, "POST", "", {"realm": "many-rules", "enabled": True})
    answer = administer(spec, "PUT", "many-rules", {"passwordPolicy": rules})
    assert answer.status_code == 400
    assert "5 regexPattern rules with long patterns" in answer.text


def test_a_profile_of_too_large_patterns_is_refused(spec: Stack) -> None:
    administer(spec, "POST", "", {"realm": "large-patterns", "enabled": True})
    before = processor_seconds(spec)
    answer = put_profile(spec, "large-patterns", 40, "[a-\uffff]*")
    assert answer.status_code == 400
    assert "The patterns of all attributes together are too long" in answer.text
    assert processor_seconds(spec) - before < 0.5


def test_a_pattern_whose_groups_make_each_step_long_is_refused(spec: Stack) -> None:
    administer(spec, "POST", "", {"realm": "many-groups", "enabled": True})
    answer = put_profile(spec, "many-groups", 1, "()" * 1_300 + "(.)*(.)*b")
    assert answer.status_code == 400
    assert "It may match for hours" in answer.text


CLIENT = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}


def administer(stack: Stack, method: str, path: str, document: Any) -> httpx2.Response:
    """Send a document to the admin API."""
    return stack.http.request(
        method,
        f"{stack.nginx.https}/admin/realms" + (f"/{path}" if path else ""),
        json=document,
        headers={"Authorization": f"Bearer {stack.administrator()}"},
    )


def costly_values(attributes: int) -> dict[str, list[str]]:
    """Return values of which no two are the same: what was matched is not matched again."""
    return {f"a{number}": ["a" * (1_000 - number)] for number in range(attributes)}


def with_patterns(stack: Stack, realm: str, attributes: int) -> None:
    """Make a realm with a user whose attributes are costly to match, and then the patterns."""
    user = {
        "username": "alice",
        "enabled": True,
        "email": "a@x.test",
        "firstName": "A",
        "lastName": "A",
        "credentials": [{"type": "password", "value": PASSWORD}],
        "attributes": costly_values(attributes),
    }
    document = {
        "realm": realm,
        "enabled": True,
        "passwordPolicy": CHEAP,
        "defaultSignatureAlgorithm": "ES256",
        "users": [user],
    }
    answer = administer(stack, "POST", "", document)
    assert answer.status_code == 201, answer.text
    answer = put_profile(stack, realm, attributes, COSTLY)
    assert answer.status_code == 200, answer.text


def put_profile(stack: Stack, realm: str, attributes: int, pattern: str) -> httpx2.Response:
    """Give the realm a profile with so many attributes that keep a pattern."""
    profile = stack.ask(f"{realm}/users/profile").json()
    profile["attributes"] += [
        {
            "name": f"a{number}",
            "permissions": EVERYBODY,
            "validations": {"pattern": {"pattern": pattern}},
        }
        for number in range(attributes)
    ]
    return administer(stack, "PUT", f"{realm}/users/profile", profile)


def sign_in(stack: Stack, realm: str) -> httpx2.Response:
    """Sign in through a client that every realm has."""
    return stack.sign_in("alice", realm=realm, client_id="admin-cli")
