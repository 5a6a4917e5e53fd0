""".../clients/{id}/installation/providers/{providerId}. Keycloak: 7.3."""

from typing import Final

from gateway.admin.clients import VIEW_CLIENTS, ClientInstallation
from gateway.http.admin.clients.handlers import CLIENT
from gateway.http.admin.operations import Operation
from gateway.http.admin.requests import AdminRequest
from gateway.http.replies import Reply

_OK: Final = 200
_TEXT: Final = ((b"content-type", b"text/plain"),)


class ClientInstallationHandlers:
    """Answers what is asked about the installation of a client."""

    def __init__(self, installation: ClientInstallation) -> None:
        self._installation = installation

    async def write(self, request: AdminRequest) -> Reply:
        """Return a file for an adapter."""
        path = request.path
        text = await self._installation.write(
            request.acting, path["client_id"], path["provider_id"], request.public_url
        )
        return Reply(_OK, _TEXT, text.encode("utf-8"))


def operations(handlers: ClientInstallationHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    return (
        Operation(
            "GET",
            f"{CLIENT}/installation/providers/{{provider_id}}",
            handlers.write,
            VIEW_CLIENTS,
            "A file that tells an adapter of a client",
            "Clients",
        ),
    )
