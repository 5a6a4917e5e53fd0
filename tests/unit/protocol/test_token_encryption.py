"""No token leaves in plain text where its client asks for encryption. OpenID Connect Core §10.2."""

import pytest

from gateway.domain.clients import with_attributes
from gateway.protocol.errors import OAuthError
from gateway.protocol.tokens import encrypt_id_token
from tests.support.authorization_requests import client_entry


@pytest.mark.parametrize("algorithm", ["RSA-OAEP", "RSA1_5", "an unknown one"])
def test_a_token_whose_key_was_not_looked_up_is_refused(algorithm: str) -> None:
    """Also where the setting was stored before it was checked."""
    entry = client_entry()
    stored = {"id.token.encrypted.response.alg": algorithm}
    with pytest.raises(OAuthError, match="was not looked up"):
        encrypt_id_token(with_attributes(entry.client, stored), None, "a.b.c")


def test_a_token_of_another_client_stays_as_it_is() -> None:
    assert encrypt_id_token(client_entry().client, None, "a.b.c") == "a.b.c"
