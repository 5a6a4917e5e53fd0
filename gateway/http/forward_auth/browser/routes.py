"""The URLs at protected sites. They begin with `/.realmgate/`, which no service behind has."""

from dataclasses import dataclass

from starlette.routing import BaseRoute, Route

from gateway.forward_auth.browser import CALLBACK_PATH, SIGN_IN_PATH
from gateway.forward_auth.site_table import Sites
from gateway.http.forward_auth.browser.endpoint import SiteEndpoint
from gateway.http.forward_auth.browser.sign_in import SignInHandlers
from gateway.http.realm_endpoint import RealmContext
from gateway.http.sign_in.page_replies import PageReplies


@dataclass(frozen=True, slots=True)
class SiteHandlers:
    """What answers the URLs, and what renders their pages."""

    sign_in: SignInHandlers
    sites: Sites
    pages: PageReplies


def build_site_routes(handlers: SiteHandlers, context: RealmContext) -> list[BaseRoute]:
    """Return the URLs of every site."""
    rows = (
        (SIGN_IN_PATH, handlers.sign_in.begin),
        (CALLBACK_PATH, handlers.sign_in.complete),
    )
    return [
        Route(path, SiteEndpoint(path, handler, handlers.sites, context, handlers.pages))
        for path, handler in rows
    ]
