"""The row that explains a certificate: why it is accepted or refused, and its token."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import InvalidRequest
from gateway.admin.clients import VIEW_CLIENTS
from gateway.admin.realms import VIEW_REALM
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.admin.operations import REALM, Body, Operation, Resource
from gateway.http.admin.requests import AdminRequest, document
from gateway.protocol.certificate_explanation import LONGEST_INPUT, CertificateExplainer

_MEMBERS: Final = frozenset({"certificate", "client"})
_JSON: Final = 4096
"""Bytes of the request besides the certificate."""
_LONGEST_CLIENT_ID: Final = 255


def explanation_operations(explainer: CertificateExplainer) -> tuple[Operation, ...]:
    """Return the row; it changes nothing, so those who may view may call it."""
    rows = Resource(
        f"{REALM}/certificates/explain", "Certificate Authorities", VIEW_REALM, VIEW_REALM
    )

    async def explain(request: AdminRequest) -> dict[str, Any]:
        certificates, client = _input(request.body)
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
            body=Body("CertificateExplanationRequest", largest=2 * LONGEST_INPUT + _JSON),
            returns="CertificateExplanationRepresentation",
            status=200,
        ),
    )


def _input(body: Mapping[str, Any]) -> tuple[bytes, str | None]:
    """Return PEM and the client ID; raises InvalidRequest."""
    unknown = sorted(body.keys() - _MEMBERS)
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
