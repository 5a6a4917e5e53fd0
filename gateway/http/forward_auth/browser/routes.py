"""The gateway's URLs at protected sites. They begin with `/.realmgate/`, as no service's may."""

from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.forward_auth.browser import CALLBACK_PATH, REFUSED_PATH, SIGN_IN_PATH, SIGN_OUT_PATH
from gateway.forward_auth.decisions import Decisions
from gateway.forward_auth.site_table import Sites
from gateway.http.forward_auth.browser.endpoint import SiteEndpoint
from gateway.http.forward_auth.browser.refusals import RefusalPages
from gateway.http.forward_auth.browser.refused_endpoint import RefusedEndpoint
from gateway.http.forward_auth.browser.sign_in import SignInHandlers
from gateway.http.forward_auth.browser.sign_out import SignOutHandler
from gateway.http.realm_endpoint import RealmContext
from gateway.http.sign_in.page_replies import PageReplies

_GET: Final = ("GET", "HEAD")
_FORM: Final = ("GET", "HEAD", "POST")


@dataclass(frozen=True, slots=True)
class SiteHandlers:
    """What answers the URLs."""

    sign_in: SignInHandlers
    sign_out: SignOutHandler
    decisions: Decisions
    refusals: RefusalPages
    sites: Sites
    pages: PageReplies


def build_site_routes(handlers: SiteHandlers, context: RealmContext) -> list[BaseRoute]:
    """Return the URLs of every site."""
    rows = (
        (SIGN_IN_PATH, handlers.sign_in.begin, _GET),
        (CALLBACK_PATH, handlers.sign_in.complete, _GET),
        (SIGN_OUT_PATH, handlers.sign_out, _FORM),
    )
    sites, pages = handlers.sites, handlers.pages
    refused = RefusedEndpoint(handlers.decisions, handlers.refusals, context)
    return [
        *(
            Route(path, SiteEndpoint(path, handler, sites, context, pages, methods=methods))
            for path, handler, methods in rows
        ),
        Route(REFUSED_PATH, refused),
    ]
