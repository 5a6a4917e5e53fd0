"""/realms/{realm}/account and everything below it: the caller, and the operation that answers.

Order: caller (401), origin of the page (403), path (404), method (405), body (400, 413, 415); the
use case requires the role (403). A cookie is never looked at, so no other site can use one.
Keycloak: 17.1
"""

from collections.abc import Awaitable, Iterable, Mapping
from functools import partial
from typing import Final

from starlette.types import Receive, Scope

from gateway.accounts.access import AccountAccess, AccountCaller
from gateway.admin.access import AdminRefusal, NotFound
from gateway.domain.locale_selection import LocalePreferences
from gateway.domain.texts import Texts
from gateway.http.account_api.operations import AccountOperation, AccountRequest
from gateway.http.admin.bodies import read_admin_body
from gateway.http.cross_origin import ACCOUNT_API
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.form import parse_form
from gateway.http.pages import Pages, PageVisit
from gateway.http.path_segments import split_path
from gateway.http.realm_endpoint import RealmContext, RealmEndpoint
from gateway.http.replies import NO_STORE, Reply
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint import token_credential

ROOT: Final = "/realms/{realm}/account"
ROUTES: Final = (ROOT, f"{ROOT}/{{rest:path}}")
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE")
_ABOVE: Final = 3
"""Segments of a path before those of the account."""
_NOT_FOUND: Final = "HTTP 404 Not Found"


class AccountEndpoint(RealmEndpoint):
    """An ASGI endpoint; its responses contain personal data, so they are never cached."""

    def __init__(
        self,
        route: str,
        operations: Iterable[AccountOperation],
        access: AccountAccess,
        pages: Pages,
        context: RealmContext,
    ) -> None:
        super().__init__(
            *(route, _unreachable, context),
            methods=_METHODS,
            always=NO_STORE,
            cross_origin=ACCOUNT_API,
        )
        self._operations = tuple((tuple(row.path.split("/")), row) for row in operations)
        self._access = access
        self._pages = pages

    async def _parameters(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - the body is JSON
        exchange: Exchange,  # noqa: ARG002
    ) -> Parameters:
        return Parameters.of(parse_form(scope["query_string"]))

    async def _reply(
        self, request: ProtocolRequest, exchange: Exchange, scope: Scope, receive: Receive
    ) -> Reply:
        caller = await self._access.by_token(request, token_credential(request.authorization))
        _note(exchange, caller)
        operation, path = self._find(scope)
        exchange.route = f"{ROOT}/{operation.path}".rstrip("/")
        document = None
        if operation.body is not None:
            headers = exchange.facts.headers
            document = await read_admin_body(receive, headers, operation.body)
        texts = partial(self._texts, caller, exchange)
        asked = AccountRequest(caller, path, request.parameters, texts, document)
        try:
            return await operation.handler(asked)
        except AdminRefusal:
            if request.event.error is not None:
                self._context.events.answered(request)
            raise

    def _find(self, scope: Scope) -> tuple[AccountOperation, Mapping[str, str]]:
        """Return the operation and the values of its path; raises NotFound, MethodNotAllowed."""
        segments = tuple(split_path(scope)[_ABOVE:]) or ("",)
        matching = {
            row.method: (row, dict(_values(template, segments)))
            for template, row in self._operations
            if _matches(template, segments)
        }
        if not matching:
            raise NotFound(_NOT_FOUND)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method not in matching:
            raise MethodNotAllowed(tuple(matching))
        return matching[method]

    def _texts(self, caller: AccountCaller, exchange: Exchange) -> Awaitable[Texts]:
        language = exchange.facts.headers.text(b"accept-language") or ""
        preferences = LocalePreferences(user=caller.user.user.locale, browser=language)
        return self._pages.texts(PageVisit(realm=caller.realm, preferences=preferences))


def _matches(template: tuple[str, ...], segments: tuple[str, ...]) -> bool:
    return len(template) == len(segments) and all(
        word.startswith("{") or word == segment
        for word, segment in zip(template, segments, strict=True)
    )


def _values(template: tuple[str, ...], segments: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    pairs = zip(template, segments, strict=True)
    return ((word[1:-1], segment) for word, segment in pairs if word.startswith("{"))


def _note(exchange: Exchange, caller: AccountCaller) -> None:
    exchange.log.user = caller.user_id
    if caller.client is not None:
        exchange.log.client = caller.client.client.client_id


async def _unreachable(request: ProtocolRequest, exchange: Exchange) -> Reply:  # noqa: ARG001
    raise LookupError("an operation answers")
