"""The rows of client certificates: what expires, and the explanation of a certificate."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.admin.clients import VIEW_CLIENTS
from gateway.admin.device_listing import (
    DeviceListing,
    DeviceQuery,
    DeviceState,
    render_device,
)
from gateway.admin.expiry import STANDARD_WINDOW, ExpiryListing
from gateway.admin.realms import VIEW_REALM
from gateway.domain.expiry import LONGEST_WINDOW, MOST_SEEN
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.domain.refusals import InvalidRequest
from gateway.http.admin.operations import (
    MANAGE_REALM,
    PAGING,
    REALM,
    Body,
    Operation,
    Query,
    Resource,
)
from gateway.http.admin.requests import AdminRequest, document
from gateway.protocol.certificate_explanation import LONGEST_INPUT, CertificateExplainer
from gateway.representations.certificates import EXPIRATION, SEEN_DEVICE, render_expiration

_PAGE: Final = 100
"""Entries of a page without `max`."""


_DAY: Final = timedelta(days=1)
_DAYS: Final = "days"
_ALL: Final = "all"
_CLIENT: Final = "client"
_SEARCH: Final = "search"
_STATE: Final = "state"


def expiry_operations(listing: ExpiryListing) -> tuple[Operation, ...]:
    """Return the row."""

    async def rendered(request: AdminRequest) -> list[dict[str, Any]]:
        first, maximum = request.page(_PAGE)
        found = await listing.list_expirations(request.realm.name, _window(request), first, maximum)
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


def device_operations(listing: DeviceListing) -> tuple[Operation, ...]:
    """Return the row of the devices that were seen."""

    async def rendered(request: AdminRequest) -> list[dict[str, Any]]:
        first, maximum = request.page(_PAGE)
        state = request.text(_STATE)
        if state and state not in set(DeviceState):
            raise InvalidRequest(f"{_STATE} is one of {', '.join(DeviceState)}")
        query = DeviceQuery(
            client=request.text(_CLIENT) or None,
            part=request.text(_SEARCH),
            state=DeviceState(state) if state else None,
        )
        most = MOST_SEEN if maximum is None else maximum
        found = await listing.list_devices(request.realm, query, first, most)
        return [render_device(each) for each in found]

    rows = Resource(f"{REALM}/certificates/devices", "Devices", VIEW_REALM, MANAGE_REALM)
    return (
        rows.get(
            "",
            "List the devices that were seen: certificates, last use and state",
            lambda r: document(rendered(r)),
            returns=f"[{SEEN_DEVICE}]",
            query=(Query(_CLIENT), Query(_SEARCH), Query(_STATE), *PAGING),
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


_EXPLANATION_MEMBERS: Final = frozenset({"certificate", "client"})
_LONGEST_JSON: Final = 4096
"""Bytes of the request besides the certificate."""
_LONGEST_CLIENT_ID: Final = 255


def explanation_operations(explainer: CertificateExplainer) -> tuple[Operation, ...]:
    """Return the row; it changes nothing, so those who may view may call it."""
    rows = Resource(
        f"{REALM}/certificates/explain", "Certificate Authorities", VIEW_REALM, VIEW_REALM
    )

    async def explain(request: AdminRequest) -> dict[str, Any]:
        certificates, client = _parse_certificate(request.body)
        try:
            found = await explainer.explain(request.realm.name, certificates, client)
        except MalformedCertificate as error:
            raise InvalidRequest(f"certificate: {error}") from error
        return found.document()

    return (
        rows.post(
            "",
            "Explain why a certificate is accepted or refused, and show the claims of its token",
            lambda r: document(explain(r)),
            also=VIEW_CLIENTS,
            body=Body("CertificateExplanationRequest", largest=2 * LONGEST_INPUT + _LONGEST_JSON),
            returns="CertificateExplanationRepresentation",
            status=200,
        ),
    )


def _parse_certificate(body: Mapping[str, Any]) -> tuple[bytes, str | None]:
    """Return PEM and the client ID; raises InvalidRequest."""
    unknown = sorted(body.keys() - _EXPLANATION_MEMBERS)
    if unknown:
        raise InvalidRequest(
            f"unknown members {', '.join(unknown)[:200]}; allowed: certificate, client"
        )
    certificate, client = body.get("certificate"), body.get("client")
    if not isinstance(certificate, str) or not 0 < len(certificate.encode()) <= LONGEST_INPUT:
        raise InvalidRequest(f"certificate is PEM of at most {LONGEST_INPUT} bytes")
    if client is not None and not (
        isinstance(client, str) and 0 < len(client) <= _LONGEST_CLIENT_ID
    ):
        raise InvalidRequest("client is the client ID of a client, or missing")
    return certificate.encode(), client
