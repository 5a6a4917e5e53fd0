"""A service account that proves itself by a certificate administers with that certificate alone.

Through the real nginx. Keycloak: 9; Spec: RFC 8705 §2.1 (tls_client_auth), §3 (bound tokens)
"""

from collections.abc import Iterator

import httpx2
import pytest

from tests.support.spec_stack import Stack, protocol
from tests.support.wire import claims_of

GRANT = {"grant_type": "client_credentials", "client_id": "device-1"}
REFUSED = (401, {"error": "HTTP 401 Unauthorized"})


@pytest.fixture(scope="module")
def device(spec: Stack) -> Iterator[httpx2.Client]:
    """Return a client that shows the device's certificate."""
    with spec.nginx.client("device-1") as http:
        yield http


@pytest.fixture(scope="module")
def token(spec: Stack, device: httpx2.Client) -> str:
    """Let the device view the users of its realm, and return a token of its service account."""

    def issued() -> str:
        answer = device.post(f"{spec.nginx.mtls}{protocol('spec')}/token", data=GRANT)
        assert answer.status_code == httpx2.codes.OK, answer.text
        return str(answer.json()["access_token"])

    account = claims_of(issued())["sub"]
    headers = {"Authorization": f"Bearer {spec.administrator()}"}
    (management,) = spec.ask("spec/clients", clientId="realm-management").json()
    roles = f"spec/clients/{management['id']}/roles/view-users"
    mapped = spec.http.post(
        f"{spec.nginx.https}/admin/realms/spec/users/{account}"
        f"/role-mappings/clients/{management['id']}",
        headers=headers,
        json=[spec.ask(roles).json()],
    )
    assert mapped.status_code == httpx2.codes.NO_CONTENT, mapped.text
    return issued()


def asked(
    http: httpx2.Client, listener: str, token: str, path: str = "users/count"
) -> tuple[int, object]:
    answer = http.get(
        f"{listener}/admin/realms/spec/{path}", headers={"Authorization": f"Bearer {token}"}
    )
    return answer.status_code, answer.json()


def test_with_its_certificate_the_account_does_what_it_may(
    spec: Stack, device: httpx2.Client, token: str
) -> None:
    assert "cnf" in claims_of(token)
    for listener in (spec.nginx.mtls, spec.nginx.https):
        status, count = asked(device, listener, token)
        assert (status, isinstance(count, int)) == (200, True)
        assert asked(device, listener, token, "roles") == (403, {"error": "HTTP 403 Forbidden"})


def test_without_its_certificate_the_token_is_none(spec: Stack, token: str) -> None:
    assert asked(spec.http, spec.nginx.https, token) == REFUSED


def test_another_certificate_of_the_authority_voids_the_token(spec: Stack, token: str) -> None:
    with spec.nginx.client("device-2") as other:
        for listener in (spec.nginx.mtls, spec.nginx.https):
            assert asked(other, listener, token) == REFUSED


def test_a_certificate_alone_is_no_administrator(spec: Stack, device: httpx2.Client) -> None:
    answer = device.get(f"{spec.nginx.mtls}/admin/realms/spec/users/count")
    assert (answer.status_code, answer.json()) == REFUSED


def test_a_right_that_is_taken_away_is_gone_with_the_same_token(
    spec: Stack, device: httpx2.Client, token: str
) -> None:
    account = claims_of(token)["sub"]
    (management,) = spec.ask("spec/clients", clientId="realm-management").json()
    mappings = f"spec/users/{account}/role-mappings/clients/{management['id']}"
    assert asked(device, spec.nginx.mtls, token)[0] == 200
    (role,) = spec.ask(mappings).json()
    assert spec.ask(mappings, "DELETE").status_code == httpx2.codes.NO_CONTENT
    assert asked(device, spec.nginx.mtls, token) == (403, {"error": "HTTP 403 Forbidden"})
    given = spec.http.post(
        f"{spec.nginx.https}/admin/realms/{mappings}",
        headers={"Authorization": f"Bearer {spec.administrator()}"},
        json=[role],
    )
    assert given.status_code == httpx2.codes.NO_CONTENT
    assert asked(device, spec.nginx.mtls, token)[0] == 200
