"""`/.realmgate/certificate/...`: what nginx shows in place of its errors 495 and 496.

nginx sets the status of its error; a reply other than 200 makes it show its own static page.
Source: https://nginx.org/en/docs/http/ngx_http_ssl_module.html#errors
"""

import re
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from starlette.routing import Route
from starlette.types import Receive, Scope

from gateway.domain.forward_auth import AmbiguousTarget
from gateway.domain.ports.directory import RealmEntry
from gateway.http.certificate_refusal.page import refusal_page
from gateway.http.errors import UNMATCHED
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.original_headers import ORIGINAL_REQUEST, OriginalHeaders
from gateway.http.guarded_endpoint import LONGEST_REALM_NAME, GuardedEndpoint
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import NO_STORE, Reply, json_reply, prose_error
from gateway.protocol.certificate_explanation import (
    MISSING_CERTIFICATE,
    CertificateRefusal,
    RefusalExplainer,
)

_PATH: Final = "/.realmgate/certificate/{format}/{status}"
_METHODS: Final = ("GET", "HEAD")
_REFUSED, _MISSING = "495", "496"
_REALM: Final = re.compile(r"\S+ (?:https?://[^/?# ]*)?(?:/auth)?/realms/([^/?# ]+)")


class CertificateRefusalEndpoint(GuardedEndpoint):
    """Answers the proxy alone: only its internal locations send the original request."""

    def __init__(self, explainer: RefusalExplainer, context: RealmContext) -> None:
        super().__init__(_PATH, context.directory, context.log, methods=_METHODS, always=NO_STORE)
        self._explainer = explainer

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - the proxy sends no body
        exchange: Exchange,
        entry: RealmEntry | None,  # noqa: ARG002 - the original request names the realm
    ) -> Reply:
        original = _original_request(scope, exchange)
        form, status = scope["path_params"]["format"], scope["path_params"]["status"]
        if original is None or scope["method"] not in self.methods:
            return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)
        refusal = await self._refusal(status, original, exchange)
        if refusal is None or form not in {"html", "json"}:
            return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)
        exchange.log.reason = refusal.sentence
        if form == "html":
            return refusal_page(refusal, exchange.request_id)
        return json_reply({**refusal.document(), "request_id": exchange.request_id})

    async def _refusal(
        self, status: str, original: str, exchange: Exchange
    ) -> CertificateRefusal | None:
        evidence = exchange.facts.certificate
        if status == _MISSING and evidence is None:
            return MISSING_CERTIFICATE
        if status != _REFUSED or evidence is None:
            return None
        return await self._explainer.explain(evidence, _realm_name(original))


def _original_request(scope: Scope, exchange: Exchange) -> str | None:
    """Return the request line that the caller sent to the proxy; None if the proxy does not ask."""
    facts = exchange.facts
    if not facts.from_proxy:
        exchange.log.reason = facts.ignored
        return None
    try:
        return OriginalHeaders(scope["headers"]).text(ORIGINAL_REQUEST)
    except AmbiguousTarget as error:
        exchange.log.reason = str(error)
        return None


def _realm_name(original: str) -> str | None:
    found = _REALM.match(original)
    name = "" if found is None else unquote(found[1])
    # A store may reject control characters, and no realm has them in its name.
    return name if name.isprintable() and 0 < len(name) <= LONGEST_REALM_NAME else None


def build_certificate_refusal_route(explainer: RefusalExplainer, context: RealmContext) -> Route:
    """Return the URL of the pages."""
    return Route(_PATH, CertificateRefusalEndpoint(explainer, context))
