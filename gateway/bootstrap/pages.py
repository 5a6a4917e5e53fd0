"""Builds the pages of a sign-in from the designs that were loaded at the start."""

from datetime import timedelta

from gateway.bootstrap.services import Services
from gateway.http.pages import Designs, PageRenderer, Pages, ResourceUrls
from gateway.storage.realm_texts import RealmTextCache


def sign_in_pages(
    services: Services, designs: Designs, *, public_url: str, text_age: timedelta
) -> Pages:
    """Return what shows pages; texts of realms are at most `text_age` old."""
    texts = RealmTextCache(services.database, services.clock, services.invalidation, text_age)
    return Pages(PageRenderer(designs, ResourceUrls.below(public_url, designs.version)), texts)
