"""GET /admin: that there is an admin API. Playbooks wait for it before they begin."""

from http import HTTPStatus

from starlette.types import Receive, Scope

from gateway.domain.ports.directory import RealmEntry
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply

WELCOME = "/admin"
_TEXT = b"Realmgate: the admin API begins at /admin/realms.\n"
_PLAIN_TEXT = (b"content-type", b"text/plain;charset=UTF-8")


class Welcome(GuardedEndpoint):
    """An ASGI endpoint that returns the same text to every caller."""

    def __init__(self, route: str, context: RealmContext) -> None:
        super().__init__(route, context.directory, context.log, methods=("GET", "HEAD"))

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002
        exchange: Exchange,  # noqa: ARG002
        entry: RealmEntry | None,  # noqa: ARG002 - the path names no realm
    ) -> Reply:
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        return Reply(HTTPStatus.OK, (_PLAIN_TEXT,), _TEXT)
