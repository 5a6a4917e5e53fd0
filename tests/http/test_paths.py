"""Which addresses lead to an endpoint, and that no other spelling does."""

import pytest

from tests.support.wire import SECRET, Wire, protocol

ADDRESSES = (
    "/realms/wire",
    "/realms/wire/.well-known/openid-configuration",
    protocol("wire", "certs"),
)


@pytest.mark.parametrize("prefix", ["", "/auth"])
@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("ending", ["%0A", "%0D", "%00", "%7F", "%C2%85"])
def test_a_control_character_leads_nowhere(
    wire: Wire, prefix: str, address: str, ending: str
) -> None:
    assert wire.get(prefix + address).status_code == 200
    response = wire.get(f"{prefix}{address}{ending}")
    assert response.status_code == 404
    assert "Unable to find matching target resource method" in response.text


@pytest.mark.parametrize("prefix", ["", "/auth"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_one_slash_at_the_end_makes_no_difference(wire: Wire, prefix: str, address: str) -> None:
    """Keycloak 26.7.3 takes it everywhere."""
    plain = wire.get(prefix + address)
    assert wire.get(f"{prefix}{address}/").json() == plain.json()
    for other in ("//", "%2F"):
        response = wire.get(f"{prefix}{address}{other}")
        assert response.status_code == 404


def test_a_form_may_be_sent_to_it_too(wire: Wire) -> None:
    answer = wire.token_request()
    form = {"client_id": "svc", "client_secret": SECRET, "token": answer.json()["access_token"]}
    for path in ("token/introspect/", "revoke/"):
        assert wire.post(path, form).status_code == 200


def test_a_control_character_in_a_realms_name_leads_nowhere(wire: Wire) -> None:
    response = wire.get("/realms/wi%0Are")
    assert "Unable to find matching target resource method" in response.text


@pytest.mark.parametrize("prefix", ["", "/auth"])
@pytest.mark.parametrize("up", ["%2e%2e/", "..%2F", "%2E%2e%2f", "%2e/", "x%2F..%2f"])
def test_a_dot_segment_leads_nowhere(wire: Wire, prefix: str, up: str) -> None:
    """A proxy chooses a location without them, and may pass the path as sent."""
    for path in (
        "/realms/wire/account/",
        "/realms/wire/clients-registrations/default/",
        "/admin/realms/wire/group-by-path/",
        "/admin/realms/wire/roles/",
        "/resources/version/",
    ):
        response = wire.get(f"{prefix}{path}{up}name")
        assert response.status_code == 404
        assert "Unable to find matching target resource method" in response.text
