"""Builds the pages that people see from the designs that were loaded at the start."""

from gateway.domain.ports.realm_texts import RealmTexts
from gateway.http.pages import Designs, PageRenderer, Pages, ResourceUrls


def own_pages(designs: Designs, texts: RealmTexts, public_url: str) -> Pages:
    """Return what shows pages at the gateway's own URLs."""
    return Pages(PageRenderer(designs, ResourceUrls.below(public_url, designs.version)), texts)


def site_pages(designs: Designs, texts: RealmTexts) -> Pages:
    """Return what shows pages at protected sites."""
    return Pages(PageRenderer(designs, ResourceUrls.at_sites(designs.version)), texts)
