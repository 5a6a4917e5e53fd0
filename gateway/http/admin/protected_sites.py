"""The rows of the protected sites of a realm."""

from typing import Final

from gateway.admin.protected_sites import ForwardAuthUseCases
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import MANAGE_REALM, REALM, Body, Operation, Resource
from gateway.http.admin.requests import created, document, done, entity

_SITE: Final = "SiteRepresentation"
_LARGEST: Final = 256 * 1024
"""Bytes: a thousand rules of usual size."""


def forward_auth_operations(use_cases: ForwardAuthUseCases) -> tuple[Operation, ...]:
    """Return every row about protected sites."""
    rows = Resource(f"{REALM}/guard/sites", "Protected Sites", VIEW_REALM, MANAGE_REALM)
    sites, one = use_cases.sites, "/{site}"
    return (
        rows.get(
            "",
            "List the protected sites of the realm",
            lambda r: document(sites.list(r.realm)),
            returns=f"[{_SITE}]",
        ),
        rows.post(
            "",
            "Create a protected site",
            lambda r: created(r, sites.create(r.acting, r.body)),
            body=Body(_SITE, largest=_LARGEST),
        ),
        rows.get(
            one,
            "Get a protected site",
            lambda r: entity(sites.one(r.realm, r.path["site"])),
            returns=_SITE,
            versioned=True,
        ),
        rows.put(
            one,
            "Replace a protected site",
            lambda r: done(sites.replace(r.acting, r.path["site"], r.body)),
            body=Body(_SITE, largest=_LARGEST),
            versioned=True,
        ),
        rows.delete(
            one,
            "Delete a protected site; requests for its hosts are refused then",
            lambda r: done(sites.remove(r.acting, r.path["site"])),
            versioned=True,
        ),
    )
