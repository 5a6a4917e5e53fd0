"""`/.realmgate/refused`: what a proxy shows where the gateway has refused a request.

A proxy such as nginx cannot return the answer to its question to the caller, so it asks for the
page with the same headers. The gateway decides again by them and trusts nothing that is repeated.
"""

from dataclasses import replace
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.domain.forward_auth import Allowed, AmbiguousTarget, Forbidden, Reason
from gateway.domain.ports.directory import RealmEntry
from gateway.forward_auth.browser import REFUSED_PATH
from gateway.forward_auth.decisions import Decisions
from gateway.http.errors import UNMATCHED, MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.forward_auth.answers import CHALLENGE, forbidden, refusal
from gateway.http.forward_auth.browser.refusals import RefusalPages
from gateway.http.forward_auth.dialects.nginx import Nginx
from gateway.http.forward_auth.evidence import evidence_of
from gateway.http.forward_auth.original_headers import OriginalHeaders
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply, prose_error

_METHODS: Final = ("GET", "HEAD")
_AGAIN: Final = Reply(HTTPStatus.SERVICE_UNAVAILABLE, ((b"retry-after", b"1"),))
"""The request may pass meanwhile: another tab has signed in, for example."""
_USED_PROOF: Final = Reply(HTTPStatus.UNAUTHORIZED, ((b"cache-control", b"no-store"),))
"""The DPoP proof of the request was used before; nginx has the challenge that says so."""


class RefusedEndpoint(GuardedEndpoint):
    """Answers the proxy alone."""

    def __init__(self, decisions: Decisions, pages: RefusalPages, context: RealmContext) -> None:
        super().__init__(REFUSED_PATH, context.directory, context.log, methods=_METHODS)
        self._decisions = decisions
        self._pages = pages

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - the proxy sends no body
        exchange: Exchange,
        entry: RealmEntry | None,  # noqa: ARG002 - the site names the realm, not the path
    ) -> Reply:
        facts = exchange.facts
        if not facts.from_proxy:
            exchange.log.reason = facts.ignored
            return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        try:
            headers = OriginalHeaders(scope["headers"], facts.headers.values)
            scheme = "https" if facts.secure else "http"
            original = Nginx.original(scope, headers, scheme, "")
        except AmbiguousTarget as error:
            exchange.log.reason = str(error)
            return forbidden(Forbidden(Reason.AMBIGUOUS_REQUEST, str(error)))
        evidence = evidence_of(facts, headers, original)
        evidence = replace(evidence, proof=replace(evidence.proof, is_repeated=True))
        decision = await self._decisions.decide(original, evidence)
        if isinstance(decision, Allowed):
            return _AGAIN if evidence.proof.text is None else _USED_PROOF
        exchange.log.reason = decision.explanation
        answer = _without_challenge(refusal(decision, original, headers))
        return await self._pages.present(answer, decision, original, headers, exchange)


def _without_challenge(answer: Reply) -> Reply:
    """Return a 401 without its challenge: nginx has kept that of the answer to its question."""
    if answer.status != HTTPStatus.UNAUTHORIZED:
        return answer
    return replace(answer, headers=tuple(each for each in answer.headers if each[0] != CHALLENGE))
