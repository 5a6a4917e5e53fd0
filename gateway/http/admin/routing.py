"""Routing of the admin API, segment by segment of the path as it was sent.

A name in a URL may contain an escaped slash: `/roles/a%2Fb` is the role `a/b`. So segments are
separated first and unescaped after that. A slash at the end and the prefix /auth make no
difference. Of two URLs that match, the one with the word comes before the one with the placeholder.

Keycloak: 7 (admin API)
Spec: RFC 3986 §2.2, §3.3
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.domain.ports.lookups import RealmEntry
from gateway.http.admin.endpoint import AdminEndpoint, AdminServices
from gateway.http.admin.operations import Operation
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange, split_path
from gateway.http.realm_endpoint import GuardedEndpoint, RealmContext
from gateway.http.replies import Reply

_BEGINNING: Final = "/admin"
_REST: Final = ":path}"


@dataclass(frozen=True, slots=True)
class _Target:
    endpoint: ASGIApp
    names: tuple[str, ...]


@dataclass(slots=True)
class _Node:
    """The possible next parts of a URL: a word, any segment, all other segments, or its end."""

    words: dict[str, "_Node"] = field(default_factory=dict)
    any: "_Node | None" = None
    rest: _Target | None = None
    end: _Target | None = None


class AdminUrls(BaseRoute):
    """The URLs of the admin API, `{name}` for one segment, `{name:path}` for all that follow."""

    def __init__(self, endpoints: Mapping[str, ASGIApp]) -> None:
        self.endpoints = endpoints
        self._root = _Node()
        for template, endpoint in endpoints.items():
            self._add_url(template.split("/")[1:], endpoint)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the endpoint and the values of the placeholders, if there is one."""
        found = None
        # Most requests are for other URLs; an escaped letter is plain in this path.
        if scope["type"] == "http" and scope["path"].startswith(_BEGINNING):
            found = _find_target(self._root, split_path(scope), ())
        if found is None:
            return Match.NONE, {}
        target, values = found
        parameters = dict(zip(target.names, values, strict=True))
        return Match.FULL, {"endpoint": target.endpoint, "path_params": parameters}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["endpoint"](scope, receive, send)

    def _add_url(self, template: Sequence[str], endpoint: ASGIApp) -> None:
        node = self._root
        target = _Target(endpoint, tuple(map(_name, filter(_is_placeholder, template))))
        for word in template:
            if word.endswith(_REST):
                node.rest = target
                return
            if _is_placeholder(word):
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.words.setdefault(word, _Node())
        node.end = target


def _find_target(
    node: _Node, segments: Sequence[str], values: tuple[str, ...]
) -> tuple[_Target, tuple[str, ...]] | None:
    if not segments:
        return None if node.end is None else (node.end, values)
    first, others = segments[0], segments[1:]
    found = None
    if first in node.words:
        found = _find_target(node.words[first], others, values)
    if found is None and node.any is not None and first:
        found = _find_target(node.any, others, (*values, first))
    if found is None and node.rest is not None:
        found = node.rest, (*values, "/".join(segments))
    return found


def _is_placeholder(word: str) -> bool:
    return word.startswith("{")


def _name(placeholder: str) -> str:
    return placeholder.strip("{}").partition(":")[0]


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
