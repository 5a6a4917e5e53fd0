"""python-keycloak, signed in at the administered server."""

import pytest
from keycloak import KeycloakAdmin, KeycloakOpenID

from tests.support.administered_server import ADMINISTRATOR, AdministeredServer
from tests.support.wire import SECRET

NAMES_CERTIFICATES_BY_PATH = pytest.mark.filterwarnings(
    "ignore:`(verify|cert)=.* is deprecated:DeprecationWarning"
)
"""python-keycloak's own HTTP client would like objects in place of paths."""


def administrator_of(server: AdministeredServer, realm: str) -> KeycloakAdmin:
    """Return the administrator of all realms at work in one."""
    return KeycloakAdmin(
        server_url=server.url,
        username=ADMINISTRATOR,
        password=server.password,
        realm_name=realm,
        user_realm_name="master",
        verify=server.verify,
    )


def client_of(
    server: AdministeredServer, realm: str, client_id: str, secret: str | None = SECRET
) -> KeycloakOpenID:
    """Return a client of the realm."""
    return KeycloakOpenID(
        server_url=server.url,
        realm_name=realm,
        client_id=client_id,
        client_secret_key=secret,
        verify=server.verify,
    )


@pytest.fixture(scope="module")
def admin(administered: AdministeredServer, realm: str) -> KeycloakAdmin:
    """Return the administrator at work in the realm of the module."""
    return administrator_of(administered, realm)


@pytest.fixture
def own_admin(administered: AdministeredServer, own_realm: str) -> KeycloakAdmin:
    """Return the administrator at work in the realm of one test alone."""
    return administrator_of(administered, own_realm)
