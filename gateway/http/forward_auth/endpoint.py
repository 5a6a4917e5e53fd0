"""The decision endpoint, `/.realmgate/guard/{dialect}`, in front of all other URLs.

It answers trusted proxies alone, by headers without a body; only a page that the proxy returns to a
browser has one. Whatever cannot be parsed is 403, an unavailable store is 503: no failure lets a
request pass. attacks: B1, B4, B5, B7
"""

import logging
from http import HTTPStatus
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.domain.forward_auth import (
    Allowed,
    AssertedIdentity,
    ForbiddenRequest,
    OriginalRequest,
    Reason,
)
from gateway.domain.hosts import AmbiguousTarget
from gateway.domain.limits.caches import cached
from gateway.forward_auth.bearer_tokens import AudienceWarnings
from gateway.forward_auth.decisions import Decisions
from gateway.forward_auth.identity_headers import (
    AUTHORIZATION,
    TOKEN,
    ServiceTokens,
    identity_headers,
)
from gateway.http.edge import Edge, EdgeFacts, EdgeRefusal
from gateway.http.errors import answered
from gateway.http.exchange import EXCHANGE, Exchange
from gateway.http.forward_auth.dialects import (
    DIALECTS,
    Dialect,
    OriginalHeaders,
    evidence_of,
    forbidden,
    refusal,
)
from gateway.http.forward_auth.refusals import RefusalPages
from gateway.http.middleware import on_every_response
from gateway.http.replies import Headers, Reply, send_reply

PREFIX: Final = "/.realmgate/guard/"
_ROUTE: Final = "/.realmgate/guard/{dialect}"
_DIALECTS: Final = {dialect.name: dialect for dialect in DIALECTS}
_TOKEN: Final = TOKEN.lower().encode("ascii")
_NO_AUTHORIZATION: Final = (AUTHORIZATION.lower().encode("ascii"), b"remove")
_NOT_FOUND: Final = Reply(HTTPStatus.NOT_FOUND)


class DecisionEndpoint:
    """Answers decision requests, and passes every other request on."""

    def __init__(
        self,
        app: ASGIApp,
        edge: Edge,
        decisions: Decisions,
        tokens: ServiceTokens,
        *,
        pages: RefusalPages,
        warnings: AudienceWarnings,
        log: FilteringBoundLogger,
    ) -> None:
        self._app = app
        self._edge = edge
        self._decisions = decisions
        self._tokens = tokens
        self._pages = pages
        self._warnings = warnings
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        exchange: Exchange = scope[EXCHANGE]
        try:
            facts = self._edge.facts(scope)
        except EdgeRefusal as error:
            exchange.route = _ROUTE
            await send_reply(_refused(str(error), exchange), send)
            return
        if not facts.from_proxy:
            await self._app(scope, receive, send)  # for other peers the URL does not exist
            return
        exchange.route = _ROUTE
        answer = self._answer(scope, facts, exchange)
        await send_reply(await answered(answer, exchange, self._log, _without_body), send)

    async def _answer(self, scope: Scope, facts: EdgeFacts, exchange: Exchange) -> Reply:
        exchange.facts = facts
        if facts.request_id is not None:
            exchange.request_id = facts.request_id
        dialect, path = _dialect(scope)
        if dialect is None:
            return _NOT_FOUND
        try:
            headers = OriginalHeaders(scope["headers"], facts.headers.values)
            scheme = "https" if facts.secure else "http"
            original = dialect.original(scope, headers, scheme, path)
        except AmbiguousTarget as error:
            return _refused(str(error), exchange)
        return await self._decided(dialect, original, headers, facts, exchange)

    async def _decided(
        self,
        dialect: type[Dialect],
        original: OriginalRequest,
        headers: OriginalHeaders,
        facts: EdgeFacts,
        exchange: Exchange,
    ) -> Reply:
        decision = await self._decisions.decide(original, evidence_of(facts, headers, original))
        if not isinstance(decision, Allowed):
            exchange.log.reason = decision.explanation
            answer = refusal(decision, original, headers)
            if not dialect.returns_refusals:
                return answer
            shown = await self._pages.present(answer, decision, original, headers, exchange)
            return _with_security_headers(shown, exchange)
        return await self._allowed(decision, exchange)

    async def _allowed(self, decision: Allowed, exchange: Exchange) -> Reply:
        headers: Headers = ()
        identity = decision.identity
        warning = self._warnings.warning(decision)
        if warning is not None:
            self._log.warning("site accepts tokens for other services", **warning)
        if identity is not None:
            exchange.log.realm, exchange.log.client = identity.realm, identity.client_id
            exchange.log.user = identity.subject
            headers = _identity_headers(identity)
            if decision.site.audience is not None:
                token = await self._tokens.token(identity, decision.site.audience)
                headers = (*headers, (_TOKEN, token.encode("ascii")))
        if not decision.site.forward_authorization:
            headers = (*headers, _NO_AUTHORIZATION)
        # The proxy logs the request itself. Last: what fails before this has its line.
        exchange.log_level = logging.DEBUG
        return Reply(HTTPStatus.OK, headers)


def _dialect(scope: Scope) -> tuple[type[Dialect] | None, str]:
    """Return the dialect of the URL, and what follows it as sent."""
    sent = (scope.get("raw_path") or b"").decode("latin-1").partition("?")[0]
    if not sent.startswith(PREFIX):
        return None, ""
    name, slash, rest = sent.removeprefix(PREFIX).partition("/")
    dialect = _DIALECTS.get(name)
    if dialect is None or bool(slash) is not dialect.takes_paths:
        return None, ""
    return dialect, f"{slash}{rest}"


@cached(4 * 1024 * 1024)
def _identity_headers(identity: AssertedIdentity) -> Headers:
    return tuple(
        (name.lower().encode("ascii"), value.encode("ascii"))
        for name, value in identity_headers(identity)
    )


def _with_security_headers(reply: Reply, exchange: Exchange) -> Reply:
    """Return a page with the headers of its realm; other answers have none."""
    if exchange.security_headers is None:
        return reply
    added = on_every_response(exchange.security_headers)
    return Reply(reply.status, (*reply.headers, *added), reply.body)


def _refused(explanation: str, exchange: Exchange) -> Reply:
    exchange.log.reason = explanation
    return forbidden(ForbiddenRequest(Reason.AMBIGUOUS_REQUEST, explanation))


async def _without_body(error: Exception, reply: Reply, exchange: Exchange) -> Reply:  # noqa: ARG001
    """Return the status of a failure and when to try again."""
    kept = tuple(header for header in reply.headers if header[0] == b"retry-after")
    return Reply(max(reply.status, HTTPStatus.FORBIDDEN), kept)
