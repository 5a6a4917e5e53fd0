""".../clients/{id}/certificates/{attr}: the key with which a client signs JWTs. Keycloak: 7.3."""

from collections.abc import Awaitable
from http import HTTPStatus
from typing import Final

from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, ClientCertificates
from gateway.http.admin.operations import Body, Media, Operation, Resource, State
from gateway.http.admin.requests import AdminRequest, document
from gateway.http.replies import Reply

_KEY: Final = "CertificateRepresentation"
_KEY_STORE: Final = Body("KeyStoreConfig")
_FORM: Final = Body(media=Media.FORM)
_ARCHIVE: Final = ((b"content-type", b"application/octet-stream"),)


def certificate_operations(certificates: ClientCertificates, client: str) -> tuple[Operation, ...]:
    """Return every row about the keys of clients; `client` is the URL of one."""
    path, tag = f"{client}/certificates/{{attr}}", "Keys of clients"
    rows = Resource(path, tag, VIEW_CLIENTS, MANAGE_CLIENTS, State.STORED_ONLY)

    def upload(request: AdminRequest, path: str) -> Awaitable[Reply]:
        client_id, attribute = _of(request)
        return document(
            certificates.upload(request.acting, client_id, attribute, request.body, path=path)
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
        rows.post(
            "/generate-and-download",
            "Generate a key for a client and return it in a PKCS#12 key store",
            lambda r: _archive(certificates.generate_archive(r.acting, *_of(r), r.body)),
            body=_KEY_STORE,
            status=200,
            refuses=(406, 501),
        ),
        rows.post(
            "/download",
            "Get the certificate of a client in a PKCS#12 key store",
            lambda r: _archive(certificates.archive(r.acting, *_of(r), r.body)),
            body=_KEY_STORE,
            status=200,
            refuses=(406, 501),
        ),
        rows.post(
            "/upload",
            "Upload the key of a client from a file; only its public part is stored",
            lambda r: upload(r, "upload"),
            body=_FORM,
            returns=_KEY,
            status=200,
            refuses=(501,),
        ),
        rows.post(
            "/upload-certificate",
            "Upload the certificate or public key of a client from a file",
            lambda r: upload(r, "upload-certificate"),
            body=_FORM,
            returns=_KEY,
            status=200,
            refuses=(501,),
        ),
    )


def _of(request: AdminRequest) -> tuple[str, str]:
    """Return the client and the attribute with the key."""
    return request.path["client_id"], request.path["attr"]


async def _archive(archive: Awaitable[bytes]) -> Reply:
    return Reply(HTTPStatus.OK, _ARCHIVE, await archive)
