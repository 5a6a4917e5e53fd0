"""What the pages at protected sites show, as in `views.py`."""

from dataclasses import dataclass, field

from gateway.domain.texts import Text
from gateway.http.pages.page_values import ClientDisplay


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEndedPage:
    """A form was sent without a session: the service has received nothing of it.

    After a sign-in in another tab the browser can send the form again, by a reload of this page.
    """

    sign_in_url: str = field(repr=False)
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAccessPage:
    """The caller may not have what was asked for. Form `switch-user`: hidden session_code."""

    username: str = field(default="", repr=False)
    """Who is signed in; empty where that is not known."""
    switch_action: str = field(default="", repr=False)
    """Where the form that signs out leads, and from there to the sign-in; empty: no form."""
    session_code: str = field(default="", repr=False)
    error_id: str = ""
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInFailedPage:
    """The browser is not signed in."""

    message: Text
    retry_url: str = field(default="", repr=False)
    """Where a new sign-in begins; empty: no link."""
    error_id: str = ""
    client: ClientDisplay | None = None


SiteView = SessionEndedPage | NoAccessPage | SignInFailedPage
