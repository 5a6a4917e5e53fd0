"""The kinds of pages at protected sites. `PAGES` of `renderer.py` contains them."""

from collections.abc import Mapping
from typing import Final

from gateway.http.pages.page_kind import PageKind, fixed_title
from gateway.http.pages.sites.views import NoAccessPage, SessionEndedPage, SignInFailedPage

SITE_PAGES: Final[Mapping[type, PageKind]] = {
    SessionEndedPage: PageKind("site-session-ended", fixed_title("siteSessionEndedTitle")),
    NoAccessPage: PageKind("site-no-access", fixed_title("siteNoAccessTitle"), sends_form=True),
    SignInFailedPage: PageKind("site-sign-in-failed", fixed_title("siteSignInFailedTitle")),
}
