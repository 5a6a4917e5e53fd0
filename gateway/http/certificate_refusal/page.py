"""The page as HTML: everything in one response, for the proxy refuses a style sheet as well.

No script; the style is allowed by its hash. Spec: CSP Level 3 §2.3.1
"""

import base64
import hashlib
from http import HTTPStatus
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gateway.http.replies import Headers, Reply
from gateway.protocol.certificate_explanation import CertificateRefusal

_HERE: Final = Path(__file__).parent
_STYLE: Final = (_HERE / "page.css").read_text("utf-8")
_TEMPLATE: Final = Environment(
    loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined
).get_template("page.html")


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
