"""What every endpoint of a realm shares: the request as one value, and its events.

Order: realm (404), method (405), HTTPS and realm enabled (403), body (400, 413, 415).
Keycloak: 0.3, 1.1
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from starlette.types import Receive, Scope
from structlog.typing import FilteringBoundLogger

from gateway.certificates import CertificateTrust
from gateway.domain.clock import Clock
from gateway.domain.dpop_proofs import NO_PROOF
from gateway.domain.errors import RealmNotFound
from gateway.domain.limits.caches import cached
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.realm import requires_proof_nonce
from gateway.http.cross_origin import CrossOrigin, origins_at
from gateway.http.edge.facts import EdgeFacts
from gateway.http.edge.headers import DPOP
from gateway.http.edge.proofs import sent_proof
from gateway.http.errors import MethodNotAllowed, nonce_header
from gateway.http.exchange import Exchange
from gateway.http.form import is_form, parse_form, query_names, read_body
from gateway.http.guarded_endpoint import Exemption, GuardedEndpoint
from gateway.http.replies import Headers, Reply
from gateway.protocol.errors import OAuthError
from gateway.protocol.events import EventRecording
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint import current_nonce
from gateway.protocol.web_origins import NO_PAGE, Page


@dataclass(frozen=True, slots=True)
class RealmContext:
    """What all endpoints of realms share. URLs have no trailing slash."""

    directory: Directory
    clock: Clock
    log: FilteringBoundLogger
    public_url: str
    mtls_public_url: str | None
    events: EventRecording
    certificates: CertificateTrust

    @property
    def addresses(self) -> tuple[str, ...]:
        """The URLs under which clients reach the gateway."""
        return tuple(filter(None, (self.public_url, self.mtls_public_url)))

    @property
    def origins(self) -> frozenset[str]:
        """The origins of pages that the gateway itself serves."""
        return origins_at((self.public_url, self.mtls_public_url))

    def issuer(self, realm_name: str) -> str:
        """Return the realm's issuer, from the configured URL."""
        return realm_url(self.public_url, realm_name)

    def mtls_issuer(self, realm_name: str) -> str | None:
        """Return the realm's address on the listener for client certificates."""
        return realm_url(self.mtls_public_url, realm_name) if self.mtls_public_url else None

    async def request(
        self,
        entry: RealmEntry,
        facts: EdgeFacts,
        parameters: Parameters,
        authorization: str | None = None,
        page: Page = NO_PAGE,
        *,
        uses_certificate: bool = True,
    ) -> ProtocolRequest:
        """Return a request to a realm; its certificate is evaluated by the rules of the realm.

        Without `uses_certificate` it counts as not presented, and no store is asked about it.
        """
        now, evidence = self.clock.now(), facts.certificate if uses_certificate else None
        return ProtocolRequest(
            realm=entry,
            issuer=self.issuer(entry.realm.name),
            parameters=parameters,
            authorization=authorization,
            certificate=await self.certificates.evaluate(evidence, entry.realm, now)
            if evidence is not None
            else None,
            remote_address=facts.remote_address,
            secure=facts.secure,
            now=now,
            user_agent=facts.headers.text(b"user-agent") or "",
            proof=sent_proof(facts, self.addresses) if DPOP in facts.headers.values else NO_PROOF,
            page=page,
        )


@cached(256 * 1024)
def realm_url(base: str, realm_name: str) -> str:
    """Return the address of a realm below a public URL of the gateway."""
    return f"{base}/realms/{quote(realm_name, safe='')}"


ProtocolHandler = Callable[[ProtocolRequest, Exchange], Awaitable[Reply]]
"""Returns the reply to a parsed request, or raises an error that `http/errors.py` maps."""


class RealmEndpoint(GuardedEndpoint):
    """An ASGI endpoint below /realms/{realm}."""

    def __init__(
        self,
        route: str,
        handler: ProtocolHandler,
        context: RealmContext,
        *,
        methods: tuple[str, ...] = ("GET", "HEAD"),
        exempt: tuple[Exemption, ...] = (),
        always: Headers = (),
        cross_origin: CrossOrigin | None = None,
        uses_certificate: bool = True,
    ) -> None:
        super().__init__(
            route,
            context.directory,
            context.log,
            methods=methods,
            exempt=exempt,
            always=always,
            cross_origin=cross_origin,
            own_origins=context.origins,
        )
        self._handler = handler
        self._context = context
        self._uses_certificate = uses_certificate

    async def _answer(
        self, scope: Scope, receive: Receive, exchange: Exchange, entry: RealmEntry | None
    ) -> Reply:
        if entry is None:
            raise RealmNotFound("the path names no realm")
        if scope["method"] not in self.methods:
            exchange.page.withhold()
            raise MethodNotAllowed(self.methods)
        facts = exchange.facts
        parameters = await self._parameters(scope, receive, exchange)
        authorization = facts.headers.text(b"authorization")
        request = await self._context.request(
            entry,
            facts,
            parameters,
            authorization,
            exchange.page,
            uses_certificate=self._uses_certificate,
        )
        try:
            reply = await self._reply(request, exchange, scope, receive)
        except OAuthError as refusal:
            self._context.events.refused(request, refusal)
            raise
        self._context.events.answered(request)
        if request.proof.text is not None and requires_proof_nonce(entry.realm):
            nonce = nonce_header(current_nonce(entry, request.now))
            return Reply(reply.status, (*reply.headers, nonce), reply.body)
        return reply

    async def _reply(
        self,
        request: ProtocolRequest,
        exchange: Exchange,
        scope: Scope,  # noqa: ARG002 - for endpoints that read more than a form
        receive: Receive,  # noqa: ARG002
    ) -> Reply:
        return await self._handler(request, exchange)

    async def _parameters(self, scope: Scope, receive: Receive, exchange: Exchange) -> Parameters:
        if scope["method"] != "POST":
            return Parameters()
        sent = exchange.facts.headers.values
        body = await read_body(receive, sent.get(b"content-length"))
        # Another kind of body, or one without a type, counts as an empty form, as in Keycloak.
        if not is_form(sent.get(b"content-type")):
            body = b""
        return Parameters.of(parse_form(body), query_names(scope["query_string"]))
