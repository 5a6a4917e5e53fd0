"""The URLs of the admin API, each with an endpoint. Keycloak: 7."""

from collections import defaultdict
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.domain.ports.directory import RealmEntry
from gateway.http.admin.endpoint import AdminEndpoint, AdminServices
from gateway.http.admin.operations import Operation
from gateway.http.admin.routing import AdminUrls
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply

_WELCOME: Final = "/admin"
_WELCOME_TEXT: Final = b"Realmgate: the admin API begins at /admin/realms.\n"
_PLAIN_TEXT: Final = (b"content-type", b"text/plain;charset=UTF-8")


def build_admin_routes(operations: Iterable[Operation], services: AdminServices) -> AdminUrls:
    """Return every URL of the admin API."""
    endpoints: dict[str, GuardedEndpoint] = {
        path: AdminEndpoint(path, methods, services)
        for path, methods in _by_path(operations).items()
    }
    return AdminUrls(endpoints | {_WELCOME: Welcome(_WELCOME, services.context)})


def _by_path(operations: Iterable[Operation]) -> dict[str, dict[str, Operation]]:
    found: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        if found[operation.path].setdefault(operation.method, operation) is not operation:
            raise ValueError(f"{operation.method} {operation.path} is in the table twice")
    return dict(found)


class Welcome(GuardedEndpoint):
    """GET /admin returns a fixed text: playbooks wait for it before they begin."""

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
        return Reply(HTTPStatus.OK, (_PLAIN_TEXT,), _WELCOME_TEXT)
