"""Clients with certificates, and tokens bound to them. RFC 8705 §2.1, §3; attacks A6 to A19."""

import httpx2
import pytest

from tests.support.certificates import Zoo
from tests.support.wire import SECRET, Wire, claims_of

NOT_PRESENTED = "no client certificate was presented"
OTHER_SUBJECT = "the certificate's subject is not the one registered for the client, compared "
DEVICES = "OU=Devices,O=Realmgate Demonstration"
NO_SUBJECT = "no certificate subject is registered for the client"
UNBOUND = {
    "error": "invalid_request",
    "error_description": "Client Certification missing for MTLS HoK Token Binding",
}
REFUSED = "Client Certification refused for MTLS HoK Token Binding"
MISMATCH = {
    "error": "invalid_token",
    "error_description": (
        "Client certificate missing, or its thumbprint and one in the token did NOT match"
    ),
}


def _unproved(reason: str) -> dict[str, str]:
    # The reason is told for certificates alone: for a secret it would help a guesser.
    text = f"Invalid client or Invalid client credentials: {reason}"
    return {"error": "invalid_client", "error_description": text}


def _as_device(
    wire: Wire, certificate: str | None, client_id: str = "device-1", **how: str
) -> httpx2.Response:
    form = {"grant_type": "client_credentials", "client_id": client_id}
    return wire.post("token", form, certificate=certificate, **how)


def _introspect_as_device(
    wire: Wire, token: str, certificate: str | None, client_id: str = "device-1"
) -> httpx2.Response:
    form = {"client_id": client_id, "token": token}
    return wire.post("token/introspect", form, certificate=certificate)


def test_a_certificate_alone_gets_a_token_bound_to_it(wire: Wire) -> None:
    response = _as_device(wire, "device-1")
    claims = claims_of(response.json()["access_token"])
    assert response.status_code == 200
    assert claims["azp"] == "device-1"
    assert list(claims["cnf"]) == ["x5t#S256"]
    other = claims_of(wire.device_token("device-2", "device-2"))
    assert other["cnf"] != claims["cnf"]


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        ("device-2", f"{OTHER_SUBJECT}as a name: CN=device-2,{DEVICES}"),
        ("user", f"{OTHER_SUBJECT}as a name: CN=alice,OU=People,O=Realmgate Demonstration"),
        (None, NOT_PRESENTED),
    ],
)
def test_the_certificate_of_somebody_else_is_no_proof(
    wire: Wire, certificate: str | None, reason: str
) -> None:
    """Attacks A14: only that client's registered subject, no fallback to client_id alone."""
    response = _as_device(wire, certificate)
    assert (response.status_code, response.json()) == (401, _unproved(reason))


def test_a_secret_is_no_proof_for_a_client_with_a_certificate(wire: Wire) -> None:
    form = {"client_id": "device-1"}
    assert wire.token_request(form).json() == _unproved(NOT_PRESENTED)
    assert wire.token_request({}, certificate="device-1").status_code == 200


def test_names_are_compared_as_parsed_in_their_order(wire: Wire) -> None:
    """Attacks A15: the same RDNs in another order are another name."""
    reason = f"{OTHER_SUBJECT}as a name: CN=device-1,{DEVICES}"
    assert _as_device(wire, "device-1", "reordered").json() == _unproved(reason)


@pytest.mark.parametrize(
    ("client_id", "status"),
    [("of-the-root", 200), ("of-the-issuer", 200), ("of-another-root", 401), ("of-itself", 401)],
)
def test_a_client_may_require_an_authority_on_the_path(
    wire: Wire, client_id: str, status: int
) -> None:
    """Keycloak: x509.casubjectdn."""
    assert _as_device(wire, "device-1", client_id).status_code == status


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [("device-1", NO_SUBJECT), ("subject empty", NO_SUBJECT), (None, NOT_PRESENTED)],
)
def test_a_client_without_a_subject_accepts_no_certificate(
    wire: Wire, certificate: str | None, reason: str
) -> None:
    response = _as_device(wire, certificate, "without-subject")
    assert (response.status_code, response.json()) == (401, _unproved(reason))


def test_a_pattern_admits_a_fleet_and_nobody_else(wire: Wire) -> None:
    """Keycloak: x509.allow.regex.pattern.comparison."""
    assert _as_device(wire, "device-1", "fleet").status_code == 200
    assert _as_device(wire, "device-2", "fleet").status_code == 200
    subject = "CN=alice, OU=People, O=Realmgate Demonstration"
    reason = f"{OTHER_SUBJECT}with an expression: {subject}"
    assert _as_device(wire, "user", "fleet").json() == _unproved(reason)


@pytest.mark.parametrize(
    "verified", ["FAILED:unable to verify the first certificate", "NONE", "success", ""]
)
def test_only_the_proxys_success_identifies(wire: Wire, verified: str) -> None:
    """Attacks A6; Keycloak: 11.1."""
    answer = _as_device(wire, "device-1", verified=verified).json()
    assert answer == _unproved("the client certificate is not trusted: the proxy did not verify it")


def test_of_the_whole_zoo_only_the_valid_pass_for_a_device(
    wire: Wire, certificate_zoo: Zoo
) -> None:
    """Attacks A7, A8, A15: even where the proxy says SUCCESS of every one of them."""
    admitted = [
        kind
        for kind in certificate_zoo
        if not kind.startswith("huge") and _as_device(wire, kind).status_code == 200
    ]
    assert admitted == [kind for kind in certificate_zoo if kind.startswith("valid")]


def test_a_bound_token_needs_a_certificate_that_holds(wire: Wire, certificate_zoo: Zoo) -> None:
    """RFC 8705 §3: possession is enough; the reason is named where it is not."""
    form = {"client_id": "bound"}
    assert wire.token_request(form).json() == UNBOUND
    for kind, reason in (
        ("expired", "it expired at "),
        ("not yet valid", "it is not valid before "),
        ("revoked", "CN=device-1,OU=Devices,O=Realmgate Demonstration was revoked"),
        ("wrong EKU", "its extended key usage does not allow client authentication"),
        ("weak key", "its key is weak or of a kind that is not accepted"),
        ("CA:TRUE", "it is an authority's certificate"),
    ):
        assert kind in certificate_zoo.animals
        answer = wire.token_request(form, certificate=kind).json()
        assert answer["error"] == "invalid_request"
        assert answer["error_description"].startswith(f"{REFUSED}: {reason}")
    self_signed = wire.token_request(form, certificate="self-signed", verified="FAILED:self-signed")
    assert "cnf" in claims_of(self_signed.json()["access_token"])


def test_introspection_by_the_tokens_client_enforces_the_binding(wire: Wire) -> None:
    """Attacks A19: with another certificate, or with none, the right secret does not help."""
    token = wire.token("bound", certificate="device-1")
    assert wire.introspect(token, "bound", certificate="device-1").json()["active"] is True
    for certificate in ("device-2", "user", None):
        response = wire.introspect(token, "bound", certificate=certificate)
        assert (response.status_code, response.json()) == (401, MISMATCH)


def test_a_stolen_device_token_is_useless(wire: Wire) -> None:
    token = wire.device_token("device-1", "device-1")
    assert _introspect_as_device(wire, token, "device-1").json()["active"] is True
    assert _introspect_as_device(wire, token, "device-2").status_code == 401
    assert _introspect_as_device(wire, token, None).status_code == 401
    as_itself = _introspect_as_device(wire, token, "device-2", "device-2")
    assert as_itself.json() == {"active": False}


def test_one_device_of_a_fleet_cannot_use_the_token_of_another(wire: Wire) -> None:
    token = wire.device_token("fleet", "device-1")
    assert _introspect_as_device(wire, token, "device-1", "fleet").json()["active"] is True
    stolen = _introspect_as_device(wire, token, "device-2", "fleet")
    assert (stolen.status_code, stolen.json()) == (401, MISMATCH)


def test_a_resource_server_is_handed_the_confirmation_to_compare(wire: Wire) -> None:
    """RFC 8705 §3.2: it introspects over a connection of its own."""
    token = wire.token("bound", certificate="device-1")
    answer = wire.introspect(token, "svc2").json()
    assert answer["cnf"] == claims_of(token)["cnf"]


def test_revocation_enforces_the_binding(wire: Wire) -> None:
    token = wire.token("bound", certificate="device-1")
    form = {"client_id": "bound", "client_secret": SECRET, "token": token}
    response = wire.post("revoke", form, certificate="device-2")
    assert (response.status_code, response.json()) == (401, MISMATCH)
    assert wire.introspect(token, "svc2").json()["active"] is True
    assert wire.post("revoke", form, certificate="device-1").status_code == 200
    assert wire.introspect(token, "svc2").json()["active"] is False
