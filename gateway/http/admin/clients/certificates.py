""".../clients/{id}/certificates/{attr}: the key by which a client signs JWTs. Keycloak: 7.3."""

from typing import Final

from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, ClientCertificates
from gateway.http.admin.clients.handlers import CLIENT
from gateway.http.admin.operations import Body, Media, Operation, State
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.replies import Reply

_TAG: Final = "Keys of clients"
_OK: Final = 200
_KEY: Final = "CertificateRepresentation"
_ARCHIVE: Final = ((b"content-type", b"application/octet-stream"),)


class ClientCertificatesHandlers:
    """Answers what is asked about the key of a client."""

    def __init__(self, certificates: ClientCertificates) -> None:
        self._certificates = certificates

    async def read(self, request: AdminRequest) -> Reply:
        """Return the public part."""
        path = request.path
        found = await self._certificates.read(request.realm, path["client_id"], path["attr"])
        return document_reply(found)

    async def generate(self, request: AdminRequest) -> Reply:
        """Make a key."""
        path = request.path
        made = await self._certificates.generate(request.acting, path["client_id"], path["attr"])
        return document_reply(made)

    async def generate_archive(self, request: AdminRequest) -> Reply:
        """Make a key and pack it up."""
        path = request.path
        archive = await self._certificates.generate_archive(
            request.acting, path["client_id"], path["attr"], request.body
        )
        return Reply(_OK, _ARCHIVE, archive)

    async def archive(self, request: AdminRequest) -> Reply:
        """Pack the certificate up."""
        path = request.path
        archive = await self._certificates.archive(
            request.acting, path["client_id"], path["attr"], request.body
        )
        return Reply(_OK, _ARCHIVE, archive)

    async def upload(self, request: AdminRequest) -> Reply:
        """Take a key."""
        return await self._upload(request, "upload")

    async def upload_certificate(self, request: AdminRequest) -> Reply:
        """Take a certificate."""
        return await self._upload(request, "upload-certificate")

    async def _upload(self, request: AdminRequest, last: str) -> Reply:
        path = request.path
        taken = await self._certificates.upload(
            request.acting, path["client_id"], path["attr"], request.body, path=last
        )
        return document_reply(taken)


def operations(handlers: ClientCertificatesHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    url = f"{CLIENT}/certificates/{{attr}}"
    read = Operation(
        "GET",
        url,
        handlers.read,
        VIEW_CLIENTS,
        "The public part of a client's key",
        _TAG,
        returns=_KEY,
        state=State.STORED_ONLY,
    )
    made = (
        ("generate", handlers.generate, None, "Make a key for a client: it is told once"),
        (
            "generate-and-download",
            handlers.generate_archive,
            Body(Media.OBJECT, "KeyStoreConfig"),
            "Make a key for a client, and pack it into a PKCS#12 key store",
        ),
        (
            "download",
            handlers.archive,
            Body(Media.OBJECT, "KeyStoreConfig"),
            "The certificate of a client in a PKCS#12 key store",
        ),
        ("upload", handlers.upload, Body(Media.FORM), "Take a key from a file: its public part"),
        (
            "upload-certificate",
            handlers.upload_certificate,
            Body(Media.FORM),
            "Take a certificate or public key from a file",
        ),
    )
    return (
        read,
        *(
            Operation(
                "POST",
                f"{url}/{last}",
                handler,
                MANAGE_CLIENTS,
                summary,
                _TAG,
                body=body,
                returns="" if "download" in last else _KEY,
                status=_OK,
                state=State.STORED_ONLY,
                refuses=(406, 501) if "download" in last else (501,),
            )
            for last, handler, body, summary in made
        ),
    )
