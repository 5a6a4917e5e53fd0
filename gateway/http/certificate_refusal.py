"""The page that a proxy shows for a client certificate which it refuses or misses.

nginx shows it in place of its errors 495 and 496: it sets the status of its error, and a reply
other than 200 makes it show its own static page. Everything is in one response, for the proxy
refuses a style sheet as well. No script; the style is allowed by its hash. Look, texts and language
are those of the realm's other pages, as far as they need no further request. JSON is in English.
Source: https://nginx.org/en/docs/http/ngx_http_ssl_module.html#errors; CSP Level 3 §2.3.1
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.routing import Route
from starlette.types import Receive, Scope

from gateway.domain.hosts import AmbiguousTarget
from gateway.domain.localization import ENGLISH, LocalePreferences, Texts, is_right_to_left
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import Realm
from gateway.http.errors import UNMATCHED
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.dialects import ORIGINAL_REQUEST, OriginalHeaders
from gateway.http.pages import Designs, Pages, PageVisit
from gateway.http.pages.content_security_policy import origin_of
from gateway.http.pages.designs import Color, accent_style_sheet, parse_color
from gateway.http.pages.renderer import ShownContact, shown_contact
from gateway.http.realm_endpoint import LONGEST_REALM_NAME, GuardedEndpoint, RealmContext
from gateway.http.replies import NO_STORE, Reply, json_reply, prose_error
from gateway.protocol.certificate_refusal import (
    MISSING_CERTIFICATE,
    CertificateRefusal,
    RefusalExplainer,
)

_HERE: Final = Path(__file__).parent
_OWN_STYLE: Final = (_HERE / "certificate_refusal.css").read_text("utf-8")
_TEMPLATE: Final = Environment(
    loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined
).get_template("certificate_refusal.html")
_STYLE_SHEET: Final = "realmgate.css"
_MARK: Final = "mark.svg"
_XML_NAMESPACE: Final = re.compile(r' xmlns="[^"]*"')
_HTML: Final = (b"content-type", b"text/html; charset=utf-8")
_KEYS: Final = "certificate"
"""The keys of the texts of these pages begin so."""


@dataclass(frozen=True, slots=True)
class _ShownRefusal:
    """What the template knows as `page`. A sentence without a translation is in English."""

    lang: str
    direction: str
    title: str
    sentence: str
    is_translated: bool
    advice: str
    is_advice_translated: bool
    style: Markup
    mark: Markup
    realm_name: str
    logo: str
    dark_logo: str
    light_only: bool
    contact: ShownContact | None


class RefusalPage:
    """Renders the page in the look and the languages of the other pages."""

    def __init__(self, designs: Designs, pages: Pages) -> None:
        catalogs, static = designs.built_in.catalogs, designs.built_in.static
        self._pages = pages
        self._style = static[_STYLE_SHEET].decode() + _OWN_STYLE
        # The mark is a file of ours; without the name space, which HTML does not need.
        self._mark = Markup(_XML_NAMESPACE.sub("", static[_MARK].decode(), count=1))  # noqa: S704
        self._keys = tuple(
            (key, _matching(text))
            for key, text in catalogs[ENGLISH].items()
            if key.startswith(_KEYS)
        )

    async def render(
        self, refusal: CertificateRefusal, realm: Realm | None, languages: str, request_id: str
    ) -> Reply:
        """Return the page; the proxy replaces its status by that of the refused request."""
        of_realm = realm or _NO_REALM
        visit = PageVisit(realm=of_realm, preferences=LocalePreferences(browser=languages))
        texts = await self._pages.texts(visit)
        look = of_realm.appearance
        logo, dark_logo = _loadable(look.logo), _loadable(look.dark_logo)
        accent = parse_color(look.accent_color)
        style = self._style if accent is None else self._style + _accent(accent)
        title = "certificateMissingTitle" if refusal.leaf is None else "certificateRefusedTitle"
        sentence, advice = self._text(refusal.sentence, texts), self._text(refusal.advice, texts)
        page = _ShownRefusal(
            lang=texts.locale,
            direction="rtl" if is_right_to_left(texts.locale) else "ltr",
            title=texts(title),
            sentence=sentence or refusal.sentence,
            is_translated=sentence is not None,
            advice=advice or refusal.advice,
            is_advice_translated=advice is not None,
            # The style is of files of ours and of a checked color; quotes must stay as they are.
            style=Markup(style),  # noqa: S704
            mark=self._mark,
            realm_name=of_realm.display_name or "",
            logo=logo,
            dark_logo="" if look.light_only else dark_logo,
            light_only=look.light_only,
            contact=shown_contact(look.contact),
        )
        body = _TEMPLATE.render(refusal=refusal, page=page, t=texts, request_id=request_id)
        policy = (b"content-security-policy", _policy(style, (logo, dark_logo)))
        return Reply(HTTPStatus.OK, (_HTML, policy), body.encode())

    def _text(self, sentence: str, texts: Texts) -> str | None:
        """Return the sentence in the language of the page, None for one without a translation."""
        if texts.locale == ENGLISH:
            return sentence
        for key, pattern in self._keys:
            found = pattern.fullmatch(sentence)
            if found is not None:
                return texts(key, *(f"{_LEFT_TO_RIGHT}{each}{_END}" for each in found.groups()))
        return None


_LEFT_TO_RIGHT: Final = "\u2066"
"""Before a date, up to _END: a text from right to left would turn it around. UAX 9 §2.4.2"""
_END: Final = "\u2069"
_NO_REALM: Final = Realm("", "")


def _matching(text: str) -> re.Pattern[str]:
    """Return the pattern of the English text, whose arguments are its groups."""
    parts = re.split(r"\{\d\}", text.replace("''", "'"))
    return re.compile("(.+)".join(map(re.escape, parts)))


def _loadable(logo: str) -> str:
    """Return a logo that needs no request to this server, which would be refused as well."""
    return "" if logo.startswith("/") else logo


def _accent(accent: Color) -> str:
    return accent_style_sheet(accent).decode("ascii")


def _policy(style: str, logos: tuple[str, ...]) -> bytes:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    images = "".join(f" {origin}" for logo in logos if (origin := origin_of(logo)))
    directives = (
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        f"img-src data:{images}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return "; ".join(directives).encode("ascii")


_PATH: Final = "/.realmgate/certificate/{format}/{status}"
_METHODS: Final = ("GET", "HEAD")
_REFUSED, _MISSING = "495", "496"
_REALM: Final = re.compile(r"\S+ (?:https?://[^/?# ]*)?(?:/auth)?/realms/([^/?# ]+)")


class CertificateRefusalEndpoint(GuardedEndpoint):
    """Answers the proxy alone: only its internal locations send the original request."""

    def __init__(
        self, explainer: RefusalExplainer, page: RefusalPage, context: RealmContext
    ) -> None:
        super().__init__(_PATH, context.directory, context.log, methods=_METHODS, always=NO_STORE)
        self._explainer = explainer
        self._page = page

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
            name = _realm_name(original)
            found = None if name is None else await self._directory.realm(name)
            realm = None if found is None or not found.realm.enabled else found.realm
            languages = exchange.facts.headers.text(b"accept-language") or ""
            return await self._page.render(refusal, realm, languages, exchange.request_id)
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


def build_certificate_refusal_route(
    explainer: RefusalExplainer, page: RefusalPage, context: RealmContext
) -> Route:
    """Return the URL of the pages."""
    return Route(_PATH, CertificateRefusalEndpoint(explainer, page, context))
