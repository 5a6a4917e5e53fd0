"""The page that a proxy shows for a client certificate which it refuses or misses.

nginx shows it in place of its errors 495 and 496: it sets the status of its error, and a reply
other than 200 makes it show its own static page. Everything is in one response, for the proxy
refuses a style sheet as well. No script; the style is allowed by its hash.
Source: https://nginx.org/en/docs/http/ngx_http_ssl_module.html#errors; CSP Level 3 §2.3.1
"""

import base64
import hashlib
import re
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.routing import Route
from starlette.types import Receive, Scope

from gateway.domain.hosts import AmbiguousTarget
from gateway.domain.ports.lookups import RealmEntry
from gateway.http.errors import UNMATCHED
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.dialects import ORIGINAL_REQUEST, OriginalHeaders
from gateway.http.realm_endpoint import LONGEST_REALM_NAME, GuardedEndpoint, RealmContext
from gateway.http.replies import NO_STORE, Headers, Reply, json_reply, prose_error
from gateway.protocol.certificate_refusal import (
    MISSING_CERTIFICATE,
    CertificateRefusal,
    RefusalExplainer,
)

_HERE: Final = Path(__file__).parent
_STYLE: Final = (_HERE / "certificate_refusal.css").read_text("utf-8")
_TEMPLATE: Final = Environment(
    loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined
).get_template("certificate_refusal.html")


def _policy() -> bytes:
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode("ascii")
    directives = (
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return "; ".join(directives).encode("ascii")


_HEADERS: Final[Headers] = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", _policy()),
)


def refusal_page(refusal: CertificateRefusal, request_id: str) -> Reply:
    """Return the page; the proxy replaces its status by that of the refused request."""
    # The style is a file of ours, and quotes in it must stay as they are.
    style = Markup(_STYLE)  # noqa: S704
    text = _TEMPLATE.render(refusal=refusal, request_id=request_id, style=style)
    return Reply(HTTPStatus.OK, _HEADERS, text.encode())


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
