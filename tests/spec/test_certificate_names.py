"""Which client a certificate is: one name of RFC 8705 §2.1.2, in the field that is meant for it.

Through the real nginx. Attacks A14, A15.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from cryptography.x509.oid import NameOID

from tests.support.certificate_clients import CertificateClients, client
from tests.support.certificates import odd_name
from tests.support.spec_stack import Stack

CLIENTS = (
    client("by-dns", san_dns="Sensor.Edge.Example"),
    client("by-uri", san_uri="spiffe://acme.example/edge/one"),
    client("by-ip", san_ip="2001:DB8:0::7"),
    client("by-ipv4", san_ip="192.0.2.7"),
    client("by-email", san_email="Sensor@Mail.Example"),
    client(
        "by-subject",
        **{
            "x509.subjectdn": "CN=sensor,O=Realmgate Demonstration",
            "x509.allow.regex.pattern.comparison": "false",
        },
    ),
    client(
        "by-pattern",
        **{
            "x509.subjectdn": "(?s).*CN=sensor.*",
            "x509.allow.regex.pattern.comparison": "true",
        },
    ),
    client("by-another-root", san_dns="sensor.edge.example", **{"x509.casubjectdn": "CN=Other CA"}),
)


@pytest.fixture(scope="module")
def clients(spec: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CertificateClients]:
    """Make a realm with a client of each kind of name."""
    folder = tmp_path_factory.mktemp("named")
    with ExitStack() as open_ones:
        yield CertificateClients.make(spec, "named", folder, CLIENTS, open_ones)


MATRIX: tuple[tuple[tuple[str, ...], str], ...] = (
    (("dns:sensor.edge.example",), "by-dns"),
    (("dns:SENSOR.edge.EXAMPLE", "dns:other.example"), "by-dns"),
    (("uri:spiffe://acme.example/edge/one",), "by-uri"),
    (("ip:2001:db8::7",), "by-ip"),
    (("ip:192.0.2.7",), "by-ipv4"),
    (("email:Sensor@mail.example",), "by-email"),
    # Another kind of name with the same text, or nearly the same name.
    (("email:a@sensor.edge.example",), ""),
    (("dns:spiffe://acme.example/edge/one",), ""),
    (("uri:sensor.edge.example", "uri:urn:192.0.2.7", "uri:Sensor@mail.example"), ""),
    (("dns:192.0.2.7",), ""),
    (("dns:*.edge.example",), ""),
    (("dns:sensor.edge.example.evil", "dns:sensor.edge.example\0.evil"), ""),
    (("uri:spiffe://acme.example/edge/One", "uri:spiffe://acme.example/edge/one/"), ""),
    (("email:sensor@mail.example",), ""),
    (("ip:::ffff:192.0.2.7",), ""),
    # The one registered client gets it, whatever other names there are.
    (("dns:sensor.edge.example", "uri:urn:other", "email:other@mail.example"), "by-dns"),
)


def test_only_the_registered_kind_of_name_authenticates(clients: CertificateClients) -> None:
    """Attacks A15: a name of another type with the same text is another name."""
    ids = [str(each["clientId"]) for each in CLIENTS]
    for number, (written, expected) in enumerate(MATRIX):
        certificate = clients.issue(f"matrix {number}", *written, cn="by-dns")
        admitted = [each for each in ids if clients.admitted(certificate, each)]
        assert admitted == ([expected] if expected else []), written


def test_names_in_the_subject_are_no_alternative_names(clients: CertificateClients) -> None:
    """Attacks A14, A15: the text of a DNS name as CN, two CNs, NUL and look-alike letters."""
    cn = NameOID.COMMON_NAME
    subjects = {
        "plain": [[(cn, "sensor.edge.example")]],
        "two": [[(cn, "sensor")], [(cn, "sensor")]],
        "nul": [[(cn, "sensor\0")]],
        "cyrillic": [[(cn, "s\u0435nsor")]],
        "comma": [[(cn, "sensor,O=Realmgate Demonstration")]],
        "right": [[(cn, "sensor")]],
    }
    admitted = []
    for kind, relative_names in subjects.items():
        clients.issue(kind, subject=odd_name(relative_names))
        admitted += [
            (kind, each) for each in ("by-dns", "by-subject") if clients.admitted(kind, each)
        ]
    assert admitted == [("right", "by-subject")]


def test_a_subject_that_can_be_misread_matches_no_pattern(clients: CertificateClients) -> None:
    """Attacks A15: each has `CN=sensor` in its text, and a second reading."""
    cn = NameOID.COMMON_NAME
    subjects = {
        "one of two names": [[(cn, "sensor")], [(cn, "admin")]],
        "two names in one": [[(cn, "sensor"), (cn, "admin")]],
        "line feed": [[(cn, "sensor\nCN=admin")]],
        "zero": [[(cn, "sensor\0")]],
        "zero width": [[(cn, "sensor\u200b")]],
        "direction": [[(cn, "sensor\u202enimda")]],
        "plain reading": [[(cn, "sensor")]],
    }
    admitted = []
    for kind, relative_names in subjects.items():
        clients.issue(kind, subject=odd_name(relative_names))
        if clients.admitted(kind, "by-pattern"):
            admitted.append(kind)
    assert admitted == ["plain reading"]


def test_log_and_caller_are_told_which_name_is_missing(clients: CertificateClients) -> None:
    certificate = clients.issue("unnamed", "dns:other.example")
    answer = clients.token(certificate, "by-uri")
    reason = "the certificate lacks the uri name of the client"
    text = f"Invalid client or Invalid client credentials: {reason}"
    assert answer.json() == {"error": "invalid_client", "error_description": text}
    assert clients.reason(answer) == f"invalid_client: {reason}"


REFUSED_ATTRIBUTES: tuple[tuple[dict[str, str], str], ...] = (
    ({"san_dns": "*.edge.example"}, "without a wildcard"),
    ({"san_dns": "not a name"}, "a DNS name"),
    ({"san_dns": "s\u0435nsor.example"}, "a DNS name"),
    ({"san_ip": "192.0.2.7/24"}, "an IPv4 or IPv6 address"),
    ({"san_uri": "relative"}, "an absolute URI"),
    ({"san_email": "nobody"}, "an e-mail address"),
    ({"san_dns": "a.example", "san_ip": "192.0.2.7"}, "exactly one name"),
    ({"san_dns": "a.example", "x509.subjectdn": "CN=a"}, "exactly one name"),
    ({"san_dns": "a.example", "self_signed": "true"}, "nothing together with"),
    ({"san_nds": "a.example"}, "one of realmgate.certificate."),
    ({"device_quota": "10"}, "unless realmgate.certificate.template is set"),
)


def test_a_name_that_would_not_work_is_refused(clients: CertificateClients) -> None:
    """All errors at once; nothing of it is stored."""
    for attributes, expected in REFUSED_ATTRIBUTES:
        answer = clients.admin("POST", "clients", client("wrong", **attributes))
        assert (answer.status_code, expected in answer.text) == (400, True), answer.text
    with_secret = client("wrong", san_dns="a.example") | {
        "clientAuthenticatorType": "client-secret"
    }
    answer = clients.admin("POST", "clients", with_secret)
    assert (answer.status_code, "authenticator client-x509" in answer.text) == (400, True)
    both = clients.admin("POST", "clients", client("wrong", san_dns="-", san_ip="-"))
    assert both.text.count("realmgate.certificate.san") >= 2


def test_a_client_registers_and_changes_its_name(clients: CertificateClients) -> None:
    """RFC 7591 §2, RFC 7592 §2.2, RFC 8705 §2.1.2."""
    token = clients.admin("POST", "clients-initial-access", {"count": 5}).json()["token"]
    url = f"{clients.stack.nginx.https}/realms/{clients.name}/clients-registrations/openid-connect"
    http, bearer = clients.stack.http, {"Authorization": f"Bearer {token}"}
    method = {"token_endpoint_auth_method": "tls_client_auth"}
    twice = method | {"tls_client_auth_san_dns": "a.test", "tls_client_auth_san_uri": "urn:a"}
    assert http.post(url, json=twice, headers=bearer).json()["error"] == "invalid_client_metadata"
    asked = method | {"tls_client_auth_san_dns": "new.test", "grant_types": ["client_credentials"]}
    made = http.post(url, json=asked, headers=bearer).json()
    assert made["tls_client_auth_san_dns"] == "new.test"
    certificate = clients.issue("new", "dns:new.test", "email:new@mail.test")
    assert clients.admitted(certificate, made["client_id"])
    for kind, value in (("email", "other@mail.test"), ("email", "new@mail.test")):
        own = {"Authorization": f"Bearer {made['registration_access_token']}"}
        changed = {"client_id": made["client_id"], f"tls_client_auth_san_{kind}": value}
        made = http.put(made["registration_client_uri"], json=changed, headers=own).json()
        assert "tls_client_auth_san_dns" not in made
        assert made[f"tls_client_auth_san_{kind}"] == value
        expected = value == "new@mail.test"
        assert clients.admitted(certificate, made["client_id"]) is expected
