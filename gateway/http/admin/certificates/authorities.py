"""The rows of the certificate authorities of a realm and of its clients."""

from collections.abc import Callable
from typing import Final

from gateway.admin.authorities import AuthorityAdministration
from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import MANAGE_REALM, REALM, Body, Operation, Resource
from gateway.http.admin.requests import AdminRequest, created, document, done, entity

_TAG: Final = "Certificate Authorities"
_SCHEMA: Final = "CertificateAuthorityRepresentation"
_PATH: Final = "certificates/authorities"
_Owner = Callable[[AdminRequest], str | None]


def authority_operations(authorities: AuthorityAdministration) -> tuple[Operation, ...]:
    """Return every row about certificate authorities."""
    of_realm = Resource(f"{REALM}/{_PATH}", _TAG, VIEW_REALM, MANAGE_REALM)
    of_client = Resource(
        f"{REALM}/clients/{{client_id}}/{_PATH}", _TAG, VIEW_CLIENTS, MANAGE_CLIENTS
    )
    return (
        *_operations(of_realm, authorities, "the realm", lambda _: None),
        *_operations(of_client, authorities, "a client", lambda r: r.path["client_id"]),
    )


def _operations(
    rows: Resource, authorities: AuthorityAdministration, what: str, owner: _Owner
) -> tuple[Operation, ...]:
    one = "/{sha256}"
    return (
        rows.get(
            "",
            f"List the certificate authorities of {what}",
            lambda r: document(authorities.list(r.realm, owner(r))),
            returns=f"[{_SCHEMA}]",
        ),
        rows.post(
            "",
            f"Register a certificate authority for {what}",
            lambda r: created(r, authorities.add(r.acting, owner(r), r.body)),
            body=Body(_SCHEMA),
        ),
        rows.get(
            one,
            f"Get a certificate authority of {what}",
            lambda r: entity(authorities.one(r.realm, owner(r), r.path["sha256"])),
            returns=_SCHEMA,
        ),
        rows.delete(
            one,
            f"Remove a certificate authority of {what}; its certificates are not trusted then",
            lambda r: done(authorities.remove(r.acting, owner(r), r.path["sha256"])),
        ),
    )
