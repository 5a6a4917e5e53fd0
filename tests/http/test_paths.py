"""Which addresses lead to an endpoint, and that no other spelling does."""

import pytest

from tests.support.wire import Wire, protocol

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


def test_a_control_character_in_a_realms_name_leads_nowhere(wire: Wire) -> None:
    response = wire.get("/realms/wi%0Are")
    assert "Unable to find matching target resource method" in response.text
