"""What pages show of a client. Keycloak: ClientModel, logoUri, policyUri, tosUri."""

from urllib.parse import urljoin

from gateway.domain.clients import Client
from gateway.http.pages.views import ClientDisplay


def client_display(client: Client) -> ClientDisplay:
    """Return the client as pages show it."""
    attributes, document = client.attributes, client.document
    root, base = str(document.get("rootUrl") or ""), str(document.get("baseUrl") or "")
    return ClientDisplay(
        client_id=client.client_id,
        name=str(document.get("name") or ""),
        logo_url=attributes.get("logoUri", ""),
        policy_url=attributes.get("policyUri", ""),
        terms_url=attributes.get("tosUri", ""),
        home_url=urljoin(root, base) if base else "",
    )
