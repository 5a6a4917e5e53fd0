"""What pages show of a client. Keycloak: ClientRepresentation."""

from urllib.parse import urljoin

from gateway.domain.clients import Client
from gateway.http.pages.page_values import ClientDisplay


def client_display(client: Client) -> ClientDisplay:
    """Return the client as pages show it."""
    shown = client.display
    return ClientDisplay(
        client_id=client.client_id,
        name=shown.name,
        logo_url=shown.logo_uri,
        policy_url=shown.policy_uri,
        terms_url=shown.terms_uri,
        home_url=urljoin(shown.root_url, shown.base_url) if shown.base_url else "",
    )
