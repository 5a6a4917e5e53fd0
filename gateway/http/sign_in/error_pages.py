"""The page for each error that a person meets: a plain sentence, and the id of the request.

What only an operator should know is in the log line under that id. Keycloak: 12.10
"""

from http import HTTPStatus
from typing import Final

from gateway.admin.access import Forbidden, NotAuthenticated
from gateway.domain.clients import Client
from gateway.domain.errors import Overloaded, StoreUnavailable
from gateway.domain.texts import Text
from gateway.http.errors import MethodNotAllowed
from gateway.http.form import FormRefused
from gateway.http.pages.views import ErrorPage
from gateway.http.sign_in.client_display import client_display
from gateway.protocol.authorization import PageError
from gateway.protocol.errors import OAuthError

_INVALID: Final = Text("invalidRequestMessage")
_TEXTS: Final[dict[tuple[str, str | None], Text]] = {
    ("access_denied", "Realm not enabled"): Text("realmNotEnabledMessage"),
    ("invalid_request", "HTTPS required"): Text("httpsRequiredMessage"),
}
"""By error and description of refusals that stand in front of every endpoint.

Clients get 403, people a page of status 400. Keycloak: 13
"""


def error_view(error: Exception, request_id: str) -> ErrorPage:
    """Return the page of an error, with a way back to the client that it is about."""
    client = client_of(error)
    shown = None if client is None else client_display(client)
    return ErrorPage(message=_text(error), error_id=request_id, client=shown)


def client_of(error: Exception) -> Client | None:
    """Return the client of a page, if it is known."""
    return error.client if isinstance(error, PageError) else None


def page_status(error: Exception, status: int) -> int:
    """Return the status of the page of an error; `status` is what a client gets."""
    if isinstance(error, OAuthError) and (error.error, error.description) in _TEXTS:
        return HTTPStatus.BAD_REQUEST
    return status


def _text(error: Exception) -> Text:
    match error:
        case PageError():
            return Text(error.message.key, error.arguments)
        case OAuthError() if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return Text("internalServerError")
        case OAuthError():
            return _TEXTS.get((error.error, error.description), _INVALID)
        case StoreUnavailable() | Overloaded():
            return Text("unavailableMessage")
        case Forbidden() | NotAuthenticated():
            return Text("noAccessMessage")
        case FormRefused() | MethodNotAllowed():
            return _INVALID
    return Text("internalServerError")
