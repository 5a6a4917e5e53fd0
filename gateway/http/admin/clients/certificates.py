""".../clients/{id}/certificates/{attr}: the key with which a client signs JWTs. Keycloak: 7.3."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from gateway.admin.access import (
    Acting,
)
from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, ClientCertificates
from gateway.http.admin.operations import Body, Media, Operation, Resource
from gateway.http.admin.requests import AdminRequest, document
from gateway.http.replies import Reply

_Pack = Callable[[Acting, str, str, Mapping[str, Any]], Awaitable[bytes]]
_KEY: Final = "CertificateRepresentation"
_ARCHIVE: Final = ((b"content-type", b"application/octet-stream"),)


def certificate_operations(certificates: ClientCertificates, client: str) -> tuple[Operation, ...]:
    """Return every row about the keys of clients; `client` is the URL of one."""
    path, tag = f"{client}/certificates/{{attr}}", "Keys of clients"
    rows = Resource(path, tag, VIEW_CLIENTS, MANAGE_CLIENTS)

    def upload(last: str, summary: str) -> Operation:
        return rows.post(
            f"/{last}",
            summary,
            lambda r: document(certificates.upload(r.acting, *_of(r), r.body, path=last)),
            body=Body(media=Media.FORM),
            returns=_KEY,
            status=200,
            refuses=(501,),
        )

    def archive(last: str, summary: str, pack: _Pack) -> Operation:
        return rows.post(
            f"/{last}",
            summary,
            lambda r: _archive(pack(r.acting, *_of(r), r.body)),
            body=Body("KeyStoreConfig"),
            status=200,
            refuses=(406, 501),
        )

    return (
        rows.get(
            "",
            "Get the public key of a client",
            lambda r: document(certificates.read(r.realm, *_of(r))),
            returns=_KEY,
        ),
        rows.post(
            "/generate",
            "Generate a key for a client; the private key is returned once",
            lambda r: document(certificates.generate(r.acting, *_of(r))),
            returns=_KEY,
            status=200,
            refuses=(501,),
        ),
        archive(
            "generate-and-download",
            "Generate a key for a client and return it in a PKCS#12 key store",
            certificates.generate_archive,
        ),
        archive(
            "download",
            "Get the certificate of a client in a PKCS#12 key store",
            certificates.archive,
        ),
        upload("upload", "Upload the key of a client from a file; only its public part is stored"),
        upload(
            "upload-certificate", "Upload the certificate or public key of a client from a file"
        ),
    )


def _of(request: AdminRequest) -> tuple[str, str]:
    """Return the client and the attribute with the key."""
    return request.path["client_id"], request.path["attr"]


async def _archive(archive: Awaitable[bytes]) -> Reply:
    return Reply(HTTPStatus.OK, _ARCHIVE, await archive)
