"""The row of what expires in a realm."""

from datetime import timedelta
from typing import Any, Final

from gateway.admin.access import InvalidRequest
from gateway.admin.expiry import STANDARD_WINDOW, ExpiryListing
from gateway.admin.realms import VIEW_REALM
from gateway.domain.expiry import LONGEST_WINDOW
from gateway.http.admin.operations import MANAGE_REALM, PAGING, REALM, Operation, Query, Resource
from gateway.http.admin.requests import AdminRequest, document
from gateway.representations.expiry import EXPIRATION, render_expiration

_PAGE: Final = 100
"""Entries of a page without `max`."""
_DAY: Final = timedelta(days=1)
_DAYS: Final = "days"
_ALL: Final = "all"


def expiry_operations(listing: ExpiryListing) -> tuple[Operation, ...]:
    """Return the row."""

    async def rendered(request: AdminRequest) -> list[dict[str, Any]]:
        first, maximum = request.page(_PAGE)
        found = await listing.list(request.realm.name, _window(request), first, maximum)
        return [render_expiration(each) for each in found]

    rows = Resource(f"{REALM}/certificates/expiring", "Expiry", VIEW_REALM, MANAGE_REALM)
    return (
        rows.get(
            "",
            "List what expires within `days`: certificates, revocation lists and keys",
            lambda r: document(rendered(r)),
            returns=f"[{EXPIRATION}]",
            query=(Query(_DAYS, "integer"), Query(_ALL, "boolean"), *PAGING),
        ),
    )


def _window(request: AdminRequest) -> timedelta | None:
    """Return the time ahead, None for all that is known; raises InvalidRequest, UnknownPage."""
    if request.flag(_ALL):
        return None
    days = request.number(_DAYS)
    if days is None:
        return STANDARD_WINDOW
    if not 0 <= days <= LONGEST_WINDOW // _DAY:
        raise InvalidRequest(f"{_DAYS} is a number from 0 to {LONGEST_WINDOW // _DAY}")
    return days * _DAY
