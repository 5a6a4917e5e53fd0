"""Renders every page once in each theme, so that a mistake is found when the gateway starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import TemplateError

from gateway.domain.realm import Realm
from gateway.domain.tables import build_value, read_table
from gateway.http.pages.designs import Designs, load_designs, template_refused
from gateway.http.pages.page_values import View
from gateway.http.pages.renderer import PAGES, PageFrame, PageRenderer
from gateway.http.pages.resources import ResourceUrls

_REALM: Final = Realm("check", "check")
_TABLE: Final = read_table("gateway.http.pages", "samples.toml")
_VIEWS: Final[Mapping[str, type]] = {each.__name__: each for each in PAGES}


def _resolve_names(value: Any) -> Any:
    """Replace each `@name` in a sample by the shared value of that name."""
    match value:
        case str() if value.startswith("@"):
            return _resolve_names(_TABLE["shared"][value[1:]])
        case dict():
            return {name: _resolve_names(each) for name, each in value.items()}
        case list():
            return [_resolve_names(each) for each in value]
    return value


def _read_sample(page: str, **members: Any) -> View:
    view: View = build_value(_VIEWS[page], _resolve_names(members))
    return view


SAMPLES: Final = {name: _read_sample(**row) for name, row in _TABLE["pages"].items()}
"""A view of each page, and more where a page has variants; tests and pictures use them too."""


def check_themes(folder: Path | None) -> Designs:
    """Return the designs; raises InvalidInput for a theme with a page that does not render."""
    designs = load_designs(folder)
    renderer = PageRenderer(designs, ResourceUrls.below("", designs.version))
    for theme in designs.themes:
        frame = PageFrame(realm=_REALM, theme=theme)
        for name, view in SAMPLES.items():
            try:
                renderer.reply(view, frame)
            except TemplateError as error:
                place = Path(folder or "", theme, "templates")
                raise template_refused(place / f"page {name}", error) from error
    return designs
