"""The rows of the deny list of certificates of a realm."""

from typing import Final

from gateway.admin.denied_certificates import DenyListAdministration
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import MANAGE_REALM, PAGING, REALM, Body, Operation, Resource
from gateway.http.admin.requests import created, document, done, entity
from gateway.representations.denied_certificates import DENIED_CERTIFICATE

_PAGE: Final = 100
"""Entries of a page without `max`."""


def denied_certificate_operations(entries: DenyListAdministration) -> tuple[Operation, ...]:
    """Return every row about deny lists."""
    rows = Resource(f"{REALM}/certificates/denied", "Denied Certificates", VIEW_REALM, MANAGE_REALM)
    one = "/{id}"
    return (
        rows.get(
            "",
            "List the denied certificates of the realm, oldest first",
            lambda r: document(entries.list(r.realm, *r.page(_PAGE))),
            returns=f"[{DENIED_CERTIFICATE}]",
            query=PAGING,
        ),
        rows.post(
            "",
            "Deny a certificate by its thumbprint, or by issuer and serial number",
            lambda r: created(r, entries.add(r.acting, r.body)),
            body=Body(DENIED_CERTIFICATE),
        ),
        rows.get(
            one,
            "Get a denied certificate",
            lambda r: entity(entries.one(r.realm, r.path["id"])),
            returns=DENIED_CERTIFICATE,
        ),
        rows.delete(
            one,
            "Remove a certificate from the deny list",
            lambda r: done(entries.remove(r.acting, r.path["id"])),
        ),
    )
