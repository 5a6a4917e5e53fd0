"""One filled page of each kind at protected sites, as in `samples.py`."""

from collections.abc import Mapping
from typing import Final

from gateway.domain.localization import Text
from gateway.http.pages.page_values import ClientDisplay
from gateway.http.pages.views import NoAccessPage, SessionEndedPage, SignInFailedPage, SiteView

_CLIENT: Final = ClientDisplay(client_id="wiki", name="Wiki", home_url="https://wiki.example.com/")
_SIGN_IN: Final = "/.realmgate/sign-in?rd=https%3A%2F%2Fwiki.example.com%2Fedit"

SITE_SAMPLES: Final[Mapping[str, SiteView]] = {
    "site-session-ended": SessionEndedPage(sign_in_url=_SIGN_IN, client=_CLIENT),
    "site-no-access": NoAccessPage(
        username="maria.schmidt@example.com",
        switch_action="/.realmgate/sign-out?rd=https%3A%2F%2Fwiki.example.com%2Fadmin",
        session_code="code",
        error_id="7f3c1e5a9b2d4c60",
        client=_CLIENT,
    ),
    "site-no-access-anonymous": NoAccessPage(error_id="7f3c1e5a9b2d4c60"),
    "site-sign-in-failed": SignInFailedPage(
        message=Text("siteSignInExpired"),
        retry_url=_SIGN_IN,
        error_id="7f3c1e5a9b2d4c60",
        client=_CLIENT,
    ),
}
