"""URLs that others gave, before a page links to them or loads them.

A link is http, https or a path of this origin; an image is https, a path of this origin, or one of
a few kinds of image in the URL itself. Anything else is left out. attacks C2
"""

import re
from typing import Final
from urllib.parse import urlsplit

from gateway.http.pages.content_security_policy import origin_of

_LONGEST: Final = 2_048
"""Characters of a URL that a page links to."""
LONGEST_IMAGE: Final = 32_768
"""Characters of an image that is in the URL itself."""
_PATH: Final = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")
_EMBEDDED: Final = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+=*")
_RUN_BY_BROWSERS: Final = frozenset({"javascript", "data", "vbscript", "blob", "file"})
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f\\]")


def safe_link(url: str) -> str:
    """Return the URL, empty where a page must not link to it."""
    if len(url) > _LONGEST or _CONTROL.search(url):
        return ""
    return url if _PATH.fullmatch(url) or origin_of(url) else ""


def safe_image(url: str) -> str:
    """Return the URL of an image, empty where a page must not load it."""
    if len(url) <= LONGEST_IMAGE and _EMBEDDED.fullmatch(url):
        return url
    link = safe_link(url)
    return link if not urlsplit(link).scheme or link.startswith("https:") else ""


def safe_target(url: str) -> str:
    """Return a verified URL that a page continues to, empty where it would run something.

    It may have a scheme of its own: redirect URIs of native applications do.
    """
    scheme = url.partition(":")[0].lower()
    return "" if _CONTROL.search(url) or scheme in _RUN_BY_BROWSERS else url
