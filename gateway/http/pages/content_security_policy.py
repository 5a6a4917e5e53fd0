"""The Content-Security-Policy of a page, and checks of foreign URLs that a page links to.

Two headers are sent: the realm's own, as it is set, and the page's, which allows what this page
loads and nothing else. A browser enforces both, so that neither weakens the other. As in Keycloak,
the frames of a front-channel logout are added to the realm's policy. There is no
`form-action` where a form leads on to the client: browsers apply it to every redirect after the
form, also to those of the client. docs/decisions/0015-sign-in-pages.md; CSP Level 3; attacks C2
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from gateway.domain.realm import SecurityHeaders, is_image
from gateway.http.replies import Headers

_HOST: Final = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_POLICY: Final = "contentSecurityPolicy"
_REPORTED: Final = "contentSecurityPolicyReportOnly"


@dataclass(frozen=True, slots=True)
class PageSources:
    """What a page loads in addition to style sheets: origins in the form `https://host:port`."""

    runs_script: bool = False
    sends_form: bool = False
    images: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


def origin_of(url: str) -> str | None:
    """Return the origin of an http or https URL, None where it has none that a policy can name."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    name = host.removesuffix(f":{port}") if port is not None else host.removesuffix(":")
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(name):
        return None
    return f"{parts.scheme}://{name}" + ("" if port is None else f":{port}")


def page_policy(sources: PageSources) -> str:
    """Return the policy of a page."""
    directives = [
        "default-src 'none'",
        "style-src 'self'",
        "font-src 'self'",
        f"img-src 'self' data:{_listed(sources.images)}",
        "base-uri 'none'",
    ]
    if sources.runs_script:
        directives.append("script-src 'self'")
    if sources.frames:
        directives.append(f"frame-src{_listed(sources.frames)}")
    if not sources.sends_form:
        directives.append("form-action 'none'")
    return "; ".join(directives)


def policy_headers(headers: SecurityHeaders, sources: PageSources) -> Headers:
    """Return the headers with the policies of the realm and of the page."""
    own = headers.value(_POLICY) or ""
    realm = _with_frames(own, sources.frames) if sources.frames else own
    values = (
        (b"content-security-policy", realm),
        (b"content-security-policy", page_policy(sources)),
        (b"content-security-policy-report-only", headers.value(_REPORTED) or ""),
    )
    return tuple((name, value.encode("latin-1")) for name, value in values if value)


def _with_frames(policy: str, frames: Iterable[str]) -> str:
    """Return the policy whose `frame-src`, where it has one, allows the frames too."""
    directives = [each.strip() for each in policy.split(";") if each.strip()]
    return "; ".join(
        f"{_without_none(each)}{_listed(frames)}" if _is_frame_source(each) else each
        for each in directives
    )


def _is_frame_source(directive: str) -> bool:
    return directive.split(maxsplit=1)[0].lower() in {"frame-src", "child-src"}


def _without_none(directive: str) -> str:
    return " ".join(word for word in directive.split() if word.lower() != "'none'")


def _listed(origins: Iterable[str]) -> str:
    return "".join(f" {origin}" for origin in dict.fromkeys(origins))


_LONGEST_URL: Final = 2_048
"""Characters of a URL that a page links to."""
_URL_PATH: Final = re.compile(r"/(?!/).*")
_RUN_BY_BROWSERS: Final = frozenset({"javascript", "data", "vbscript", "blob", "file"})
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f\\]")


def safe_link(url: str) -> str:
    """Return an http or https URL or a path of this origin, empty for anything else."""
    if len(url) > _LONGEST_URL or _CONTROL.search(url):
        return ""
    return url if _URL_PATH.fullmatch(url) or origin_of(url) else ""


def safe_image(url: str) -> str:
    """Return the URL of an image, empty where a page must not load it."""
    return url if is_image(url) else ""


_MOST_OF_LOGOS: Final = 4_096
"""Characters of origins in the header, which proxies read in one buffer with all others."""


def allowed_logos(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the images that a page loads: the first ones of which the policy can name the origins.

    Images without an origin, such as those of the gateway itself, are always among them.
    """
    left, origins, found = _MOST_OF_LOGOS, set[str](), []
    for url in filter(None, map(safe_image, urls)):
        origin = origin_of(url)
        if origin is not None and origin not in origins:
            if len(origin) >= left:
                continue
            left -= len(origin) + 1
            origins.add(origin)
        found.append(url)
    return tuple(found)


def safe_target(url: str) -> str:
    """Return a verified URL, of any scheme that runs nothing; else empty."""
    scheme = url.partition(":")[0].lower()
    return "" if _CONTROL.search(url) or scheme in _RUN_BY_BROWSERS else url
