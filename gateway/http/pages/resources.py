"""Static files of the pages: style sheets, one script, images. Browsers keep them for a year.

`/resources/<version>/<file>`, `.../themes/<theme>/<file>` and `.../accent/<color>.css`; protected
sites have them below `/.realmgate`. The files are in memory, by their whole path: no request reads
a file. A URL with another version, from a page
of another release, is answered with the current file, which browsers do not keep then.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from starlette.routing import Route
from starlette.types import Receive, Scope

from gateway.domain.ports.lookups import RealmEntry
from gateway.http.errors import UNMATCHED, MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.pages.designs import (
    MEDIA_TYPES,
    STYLE_SHEET,
    Color,
    Designs,
    accent_style_sheet,
    parse_color,
)
from gateway.http.realm_endpoint import GuardedEndpoint, RealmContext
from gateway.http.replies import Headers, Reply, prose_error

ROUTE: Final = "/resources/{version}/{path:path}"
_SITE_PREFIX: Final = "/.realmgate"
"""At protected sites, whose other paths belong to the service."""
_FOR_EVER: Final = b"public, max-age=31536000, immutable"
_ACCENT: Final = re.compile(r"accent/([0-9a-f]{6})\.css")
_VERSION: Final = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class ResourceUrls:
    """The URLs of static files, below the path of the public URL."""

    base: str
    """`/resources/<version>`, with the path of the public URL before it."""

    @classmethod
    def below(cls, public_url: str, version: str) -> "ResourceUrls":
        return cls(f"{urlsplit(public_url).path.rstrip('/')}/resources/{version}")

    @classmethod
    def at_sites(cls, version: str) -> "ResourceUrls":
        return cls(f"{_SITE_PREFIX}/resources/{version}")

    @property
    def style_sheet(self) -> str:
        """The style sheet of every page."""
        return self.built_in(STYLE_SHEET)

    def built_in(self, name: str) -> str:
        return f"{self.base}/{name}"

    def of_theme(self, theme: str, name: str) -> str:
        return f"{self.base}/themes/{theme}/{name}"

    def accent(self, color: Color) -> str:
        return f"{self.base}/accent/{color.hex}.css"


@dataclass(frozen=True, slots=True)
class Resources:
    """All static files by their path below the version."""

    version: str
    files: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, designs: Designs) -> "Resources":
        themed = {
            f"themes/{theme}/{name}": content
            for theme, design in designs.themes.items()
            for name, content in design.static.items()
        }
        return cls(designs.version, {**designs.built_in.static, **themed})

    def find_file(self, path: str) -> bytes | None:
        """Return the content of a file, None where there is none."""
        accent = _ACCENT.fullmatch(path)
        color = parse_color(accent.group(1)) if accent else None
        return self.files.get(path) if color is None else accent_style_sheet(color)


class ResourceEndpoint(GuardedEndpoint):
    """Serves the static files; they belong to no realm."""

    def __init__(self, route: str, resources: Resources, context: RealmContext) -> None:
        super().__init__(route, context.directory, context.log, methods=("GET", "HEAD"))
        self._resources = resources

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - a GET has no body
        exchange: Exchange,  # noqa: ARG002
        entry: RealmEntry | None,  # noqa: ARG002
    ) -> Reply:
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        version, path = scope["path_params"]["version"], scope["path_params"]["path"]
        content = self._resources.find_file(path) if _VERSION.fullmatch(version) else None
        if content is None:
            return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)
        kept = _FOR_EVER if version == self._resources.version else b"no-cache"
        headers: Headers = (
            (b"content-type", MEDIA_TYPES[PurePosixPath(path).suffix].encode("ascii")),
            (b"cache-control", kept),
            (b"content-security-policy", b"default-src 'none'; sandbox"),
        )
        return Reply(HTTPStatus.OK, headers, content)


def build_resource_routes(resources: Resources, context: RealmContext) -> list[Route]:
    """Return every URL of static files, the gateway's own and those at protected sites."""
    routes = ROUTE, f"{_SITE_PREFIX}{ROUTE}"
    return [Route(route, ResourceEndpoint(route, resources, context)) for route in routes]
