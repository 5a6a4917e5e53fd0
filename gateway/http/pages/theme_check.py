"""Renders every page once in each theme, so that a mistake is found when the gateway starts."""

from pathlib import Path
from typing import Final

from jinja2 import TemplateError

from gateway.domain.realm import Realm
from gateway.http.pages.designs import Designs, load_designs, template_refused
from gateway.http.pages.renderer import PageFrame, PageRenderer
from gateway.http.pages.resources import ResourceUrls
from gateway.http.pages.samples import SAMPLES

_REALM: Final = Realm("check", "check")


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
