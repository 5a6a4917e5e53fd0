"""Pages of a sign-in: values, texts, templates, static files and their headers.

Who answers a request fills a view of `views.py` and calls `Pages.reply`.
"""

from gateway.domain.localization import LocalePreferences, select_locale, supported_locale
from gateway.http.pages.designs import Designs, load_designs
from gateway.http.pages.page_values import View
from gateway.http.pages.pages import AccountLinks, Pages, PageVisit
from gateway.http.pages.renderer import PageFrame, PageRenderer
from gateway.http.pages.resources import Resources, ResourceUrls, build_resource_routes
