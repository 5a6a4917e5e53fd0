"""URLs that others gave, before a page links to them or continues to them. attacks C2."""

import re
from typing import Final

from gateway.domain.realm import is_image
from gateway.http.pages.content_security_policy import origin_of

_LONGEST: Final = 2_048
"""Characters of a URL that a page links to."""
_PATH: Final = re.compile(r"/(?!/).*")
_RUN_BY_BROWSERS: Final = frozenset({"javascript", "data", "vbscript", "blob", "file"})
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f\\]")


def safe_link(url: str) -> str:
    """Return an http or https URL or a path of this origin, empty for anything else."""
    if len(url) > _LONGEST or _CONTROL.search(url):
        return ""
    return url if _PATH.fullmatch(url) or origin_of(url) else ""


def safe_image(url: str) -> str:
    """Return the URL of an image, empty where a page must not load it."""
    return url if is_image(url) else ""


def safe_target(url: str) -> str:
    """Return a verified URL that a page continues to, empty where it would run something.

    It may have a scheme of its own: redirect URIs of native applications do.
    """
    scheme = url.partition(":")[0].lower()
    return "" if _CONTROL.search(url) or scheme in _RUN_BY_BROWSERS else url
