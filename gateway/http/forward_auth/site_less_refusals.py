"""The answer to a refused request that belongs to no site: a page for people, else JSON.

No realm has a theme or a language for it, so the page is like nginx's own error pages: everything
is in one response, without a script, and the style is allowed by its hash. The names of other
sites, realms and servers are for the log alone. Source: CSP Level 3 §2.3.1
"""

import base64
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gateway.domain.forward_auth import ForbiddenRequest, OriginalRequest, Reason, Unauthenticated
from gateway.domain.hosts import AmbiguousTarget, canonical_host
from gateway.http.replies import Reply, json_reply

_HERE: Final = Path(__file__).parent
_STYLE: Final = (_HERE / "site_less_refusal.css").read_text("utf-8")
_TEMPLATE: Final = Environment(
    loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined
).get_template("site_less_refusal.html")
_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode("ascii")
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
).encode("ascii")


@dataclass(frozen=True, slots=True)
class RefusalText:
    """What a caller reads: the error code, title, reason and advice."""

    error: str
    title: str
    sentence: str
    advice: str


_UNREADABLE: Final = RefusalText(
    "invalid_request",
    "The request was not passed on",
    "Server and service could read its address or its headers differently, so it was refused.",
    "Check the address: repeated or encoded slashes, dot segments and semicolons are refused. If"
    " every address of this host is refused, its administrator finds the reason in the log of the"
    " gateway, by the request id.",
)
_NOT_SERVED: Final = RefusalText(
    "unknown_host",
    "This host is not served here",
    "Server and site do not belong together, or several sites claim the host.",
    "Check the address for a typing mistake. If it is right, its administrator finds the reason in"
    " the log of the gateway, by the request id.",
)
_UNFINISHED: Final = RefusalText(
    "temporarily_unavailable",
    "This address is not set up completely",
    "The realm that protects it does not exist.",
    "Ask the administrator of this service, who finds the missing realm by realmgate doctor.",
)


def refusal_text(refusal: Unauthenticated | ForbiddenRequest, host: str) -> RefusalText:
    """Return the text for a refusal without a site, or for a site whose realm does not exist."""
    if refusal.site is not None:
        return _UNFINISHED
    if refusal.reason is Reason.AMBIGUOUS_REQUEST:
        return _UNREADABLE
    if isinstance(refusal, ForbiddenRequest) and not refusal.is_unclaimed:
        return _NOT_SERVED
    try:
        shown = canonical_host(host)
    except AmbiguousTarget:
        shown = ""
    return RefusalText(
        "unknown_host",
        "There is no site at this address",
        f"No protected site has the host {shown}." if shown else "No protected site has this host.",
        "Check the address for a typing mistake. If it is right, its administrator has to add the"
        " host to a site, by realmgate guard set or in the rules file; realmgate doctor names the"
        " servers of nginx without a site.",
    )


def with_explanation(
    answer: Reply,
    refusal: Unauthenticated | ForbiddenRequest,
    original: OriginalRequest | None,
    request_id: str,
    *,
    for_people: bool,
) -> Reply:
    """Return the answer with a body: HTML, or JSON for programs."""
    text = refusal_text(refusal, "" if original is None else original.host)
    if not for_people:
        found = json_reply(
            {
                "error": text.error,
                "error_description": f"{text.title}. {text.sentence} {text.advice}",
                "request_id": request_id,
            }
        )
        return replace(answer, headers=(*found.headers, *answer.headers), body=found.body)
    # The style is a file of ours, and quotes in it must stay as they are.
    style = Markup(_STYLE)  # noqa: S704
    page = _TEMPLATE.render(
        text=text, status=int(answer.status), request_id=request_id, style=style
    )
    headers = (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", _POLICY),
        *answer.headers,
    )
    return replace(answer, headers=headers, body=page.encode())
