"""A request that names no client: the one client of the realm that owns its trusted certificate.

Through the real nginx. Attacks A6, A14.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.certificate_clients import CertificateClients, client
from tests.support.spec_stack import Stack
from tests.support.wire import BOUND, audience, claims_of

EXACT = {"x509.allow.regex.pattern.comparison": "false"}
CLIENTS = (
    client("dns", san_dns="one.example") | {"protocolMappers": [audience("dns")]},
    client("uri", san_uri="urn:one", **BOUND),
    client("subject", **EXACT, **{"x509.subjectdn": "O=Realmgate Demonstration, CN=one"}),
    client("subject-right", **EXACT, **{"x509.subjectdn": "CN=two,O=Realmgate Demonstration"})
    | {"redirectUris": ["https://a.test/cb"]},
    client("pattern", **{"x509.subjectdn": "CN=three, O=Realmgate Demonstration"}),
    client("shared-1", san_email="both@mail.example"),
    client("shared-2", san_email="both@mail.example"),
    client("disabled", san_ip="192.0.2.1") | {"enabled": False},
    client("template", template="urn://fleet/{device}", **BOUND),
)
_CROWD = 50
"""With the client of the device one more than are compared with a certificate."""
_IN_A_ROW = 12
"""The same answer without another between them: enough for both gateways to have answered."""


@pytest.fixture(scope="module")
def clients(spec: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CertificateClients]:
    """Make a realm of clients, each known by another kind of name."""
    folder = tmp_path_factory.mktemp("owned")
    with ExitStack() as open_ones:
        yield CertificateClients.make(spec, "owned", folder, CLIENTS, open_ones)


CASES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("other", ("dns:ONE.example",), "dns", ""),
    ("other", ("uri:urn:one", "dns:unknown.example"), "uri", ""),
    ("two", (), "subject-right", ""),
    ("other", ("uri:urn://fleet/7",), "template", ""),
    ("one", (), "", "no client owns the certificate"),
    ("three", (), "", "no client owns the certificate"),
    ("other", ("ip:192.0.2.1",), "", "no client owns the certificate"),
    ("other", ("email:both@MAIL.example",), "", "the clients shared-1, shared-2 own the"),
    ("other", ("dns:one.example", "uri:urn:one"), "", "the clients dns, uri own the certificate"),
    (
        "other",
        ("dns:one.example", *(f"dns:{n}.example" for n in range(64))),
        "",
        "no client owns the certificate",
    ),
)


def test_exactly_one_owner_is_the_client(clients: CertificateClients) -> None:
    """None or several are refused, and the log says which; a pattern is not searched."""
    for number, (cn, written, expected, reason) in enumerate(CASES):
        answer = clients.token(clients.issue(f"case {number}", *written, cn=cn))
        if expected:
            assert claims_of(answer.json()["access_token"])["azp"] == expected
        else:
            assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
            assert f"names no client, and {reason}" in clients.reason(answer)


def test_only_a_trusted_certificate_names_a_client(clients: CertificateClients) -> None:
    """Attacks A6: a self-signed certificate with the name identifies no client."""
    clients.issue("self-made", "dns:one.example", self_signed=True)
    answer = clients.token("self-made", self_signed=True)
    assert answer.status_code == 401
    refused = "invalid_client: the request names no client, and its certificate is not trusted: "
    assert clients.reason(answer).startswith(f"{refused}it is self-signed: the issuer CN=device")


def test_every_endpoint_of_clients_finds_the_owner(clients: CertificateClients) -> None:
    """Introspection, revocation and pushed authorization requests; a client_id still decides."""
    certificate = clients.issue("endpoints", "dns:one.example")
    token = clients.token(certificate).json()["access_token"]
    assert clients.post("token/introspect", certificate, {"token": token}).json()["active"] is True
    assert clients.post("revoke", certificate, {"token": token}).status_code == 200
    assert clients.post("token/introspect", certificate, {"token": token}).json()["active"] is False
    assert clients.token(certificate, "uri").status_code == 401
    form = {"response_type": "code", "redirect_uri": "https://a.test/cb", "scope": "openid"}
    pushed = clients.post("ext/par/request", clients.issue("pushing", cn="two"), form)
    assert pushed.status_code == 201, pushed.text


def test_a_changed_or_removed_client_is_found_by_its_new_name(clients: CertificateClients) -> None:
    clients.admin("POST", "clients", client("moving", san_dns="before.example"))
    before, after = (clients.issue(each, f"dns:{each}.example") for each in ("before", "after"))
    assert [clients.token(each).status_code for each in (before, after)] == [200, 401]
    assert clients.with_attributes("moving", san_dns="after.example").status_code == 204
    assert [clients.token(each).status_code for each in (before, after)] == [401, 200]
    assert clients.admin("DELETE", f"clients/{clients.id_of('moving')}").status_code == 204
    assert [clients.token(each).status_code for each in (before, after)] == [401, 401]


SQUATTERS: tuple[tuple[dict[str, str], dict[str, str], str], ...] = (
    ({"san_dns": "a.squat.example"}, {"san_dns": "A.squat.example"}, "dns:a.squat.example"),
    ({"san_uri": "urn://b/1"}, {"template": "urn://b/{device}", **BOUND}, "uri:urn://b/1"),
    ({"template": "{d}.c.example", **BOUND}, {"san_dns": "x.c.example"}, "dns:x.c.example"),
    ({"san_email": "d@squat.example"}, {"san_ip": "192.0.2.9"}, "ip:192.0.2.9"),
    (
        {**EXACT, "x509.subjectdn": "CN=e,O=Realmgate Demonstration"},
        {"san_uri": "urn:e"},
        "uri:urn:e",
    ),
)
"""Names of a client that registers itself, of an administrator's client, and of a device."""


def register(clients: CertificateClients, *documents: dict[str, object]) -> None:
    """Register clients with a new initial access token."""
    count = {"count": len(documents)}
    initial = clients.admin("POST", "clients-initial-access", count).json()["token"]
    for document in documents:
        answer = clients.stack.http.post(
            f"{clients.stack.nginx.https}/realms/{clients.name}/clients-registrations/default",
            json=document,
            headers={"Authorization": f"Bearer {initial}"},
        )
        assert answer.status_code == 201, answer.text


def test_a_name_of_an_administrator_wins_over_a_registered_one(clients: CertificateClients) -> None:
    """Whichever client had it first: a stranger's registration locks no device out."""
    for number, (squatted, given, written) in enumerate(SQUATTERS):
        register(clients, client("squatter", **squatted))
        assert clients.admin("POST", "clients", client("given", **given)).status_code == 201
        extra = ("email:d@squat.example",) if "san_email" in squatted else ()
        cn = "e" if "x509.subjectdn" in squatted else "other"
        device = clients.issue(f"squatted {number}", written, *extra, cn=cn)
        answer = clients.token(device)
        assert answer.status_code == 200, (squatted, clients.reason(answer))
        assert claims_of(answer.json()["access_token"])["azp"] == "given", squatted
        assert clients.admin("DELETE", f"clients/{clients.id_of('given')}").status_code == 204
        assert clients.admin("DELETE", f"clients/{clients.id_of('squatter')}").status_code == 204


def test_many_registered_templates_hide_no_owner(clients: CertificateClients) -> None:
    """None of them fits the device, but all have the shape of the template that does."""
    clients.admin("POST", "clients", client("fleet", template="crowd://f/{device}", **BOUND))
    crowd = [client(f"c{n}", template=f"crowd://{n}/{{d}}", **BOUND) for n in range(_CROWD)]
    register(clients, *crowd)
    answer = clients.token(clients.issue("in a crowd", "uri:crowd://f/7"))
    assert answer.status_code == 200, clients.reason(answer)
    assert claims_of(answer.json()["access_token"])["azp"] == "fleet"


def test_two_registered_clients_of_a_certificate_are_refused(clients: CertificateClients) -> None:
    """Neither is of an administrator: none of the names is known to be right."""
    register(
        *(clients, client("first", san_dns="f.squat.example"), client("second", san_uri="urn:f"))
    )
    answer = clients.token(clients.issue("two squatters", "dns:f.squat.example", "uri:urn:f"))
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert "the clients first, second own the certificate" in clients.reason(answer)


def test_both_gateways_find_a_changed_client_within_a_second(pair: Stack, tmp_path: Path) -> None:
    """As a client that is named by its id: what each gateway has in memory is dropped."""
    clients = (
        client("moved", san_dns="old.example"),
        client("template", template="urn://f/{d}", **BOUND),
    )
    with ExitStack() as open_ones:
        realm = CertificateClients.make(pair, "moved", tmp_path, clients, open_ones)
        names = ("dns:old.example", "dns:new.example", "uri:urn://f/1")
        old, new, other = (realm.issue(f"has-{at}", name) for at, name in enumerate(names))

        def statuses() -> list[int]:
            return [realm.token(each).status_code for each in (old, new, other)]

        assert [statuses() for _ in range(_IN_A_ROW)] == [[200, 401, 200]] * _IN_A_ROW
        assert realm.with_attributes("moved", san_dns="new.example").status_code == 204
        changed_at, same = time.monotonic(), 0
        while same < _IN_A_ROW:
            asked_at = time.monotonic()
            same = same + 1 if statuses() == [401, 200, 200] else 0
            assert same or asked_at < changed_at + 1
