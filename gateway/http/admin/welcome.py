"""GET /admin: that there is an admin API. Playbooks wait for it before they begin."""

from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from gateway.domain.realm import SecurityHeaders
from gateway.http import security_headers
from gateway.http.errors import MethodNotAllowed, allow_header, answered
from gateway.http.exchange import exchange_of
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply, send_reply

WELCOME = "/admin"
_TEXT = b"Realmgate: the admin API begins at /admin/realms.\n"
_METHODS = ("GET", "HEAD")


class Welcome:
    """An ASGI endpoint that tells everybody the same."""

    def __init__(self, route: str, context: RealmContext) -> None:
        """Log by `context`."""
        self._route = route
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Answer the request."""
        exchange = exchange_of(scope)
        exchange.route = self._route
        reply = await answered(_welcome(scope["method"]), exchange, self._context.log)
        headers = security_headers.for_document(SecurityHeaders())
        await send_reply(Reply(reply.status, (*reply.headers, *headers), reply.body), send)


async def _welcome(method: str) -> Reply:
    if method == "OPTIONS":
        return Reply(HTTPStatus.OK, (allow_header(_METHODS),))
    if method not in _METHODS:
        raise MethodNotAllowed(_METHODS)
    plain = (b"content-type", b"text/plain;charset=UTF-8")
    return Reply(HTTPStatus.OK, (plain,), _TEXT)
