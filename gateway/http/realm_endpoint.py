"""What every endpoint of a realm shares: checks, the request as one value, and its events.

Order: realm (404), method (405), HTTPS and realm enabled (403), body (400, 413, 415).

Every route of the application is a `GuardedEndpoint`, which a test of the composition checks.
`sslRequired` and "realm enabled" are checked for each request to a realm, before an endpoint reads
more of it, unless the endpoint declares an exemption and the reason for it. The headers of the
realm are written by `gateway/http/middleware.py`.
Keycloak: token endpoint, checks 1 and 2; 0.3 headers, 1.1 order of checks, 13 (transport)
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import ClassVar, Final, final
from urllib.parse import quote

from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.certificates import CertificateTrust
from gateway.domain.clock import Clock
from gateway.domain.errors import RealmNotFound
from gateway.domain.limits.caches import cached
from gateway.domain.ports.client_keys import NO_PROOF
from gateway.domain.ports.lookups import Directory, RealmEntry
from gateway.domain.realm import Realm, SecurityHeaders
from gateway.http.cross_origin import ORIGIN, CrossOrigin, origins_at
from gateway.http.edge import DPOP, EdgeFacts, sent_proof
from gateway.http.errors import MethodNotAllowed, allow_header, answered, nonce_header
from gateway.http.exchange import EXCHANGE, Exchange
from gateway.http.forms import query_names, read_form
from gateway.http.replies import Headers, Reply, send_reply
from gateway.protocol.errors import OAuthError
from gateway.protocol.events import EventRecording
from gateway.protocol.requests import (
    NO_PAGE,
    Parameters,
    ProtocolRequest,
    SendingPage,
    disabled_realm,
    require_https,
)
from gateway.protocol.sender_constraint import current_nonce

LONGEST_REALM_NAME: Final = 255
"""Characters; a longer name is that of no realm and is not looked up."""
_DEFAULT_HEADERS: Final = SecurityHeaders()


class RealmCheck(Enum):
    """A check of every request to a realm."""

    HTTPS = auto()
    ENABLED = auto()


@dataclass(frozen=True, slots=True)
class Exemption:
    """A check that an endpoint skips, and why that is safe."""

    check: RealmCheck
    reason: str


class GuardedEndpoint(ABC):
    """An ASGI endpoint whose requests are checked against the realm in their path, if any."""

    _unknown_realm_first: ClassVar[bool] = True
    """Whether an unknown realm is 404 before any other check."""

    def __init__(
        self,
        route: str,
        directory: Directory,
        log: FilteringBoundLogger,
        *,
        methods: tuple[str, ...],
        exempt: tuple[Exemption, ...] = (),
        always: Headers = (),
        cross_origin: CrossOrigin | None = None,
        own_origins: frozenset[str] = frozenset(),
    ) -> None:
        """Take `always`, headers of every response, errors included.

        Without `cross_origin` pages of other origins cannot read the responses; `own_origins` are
        those of the gateway.
        """
        self.route = route
        self.methods = methods
        self.exempt = exempt
        skipped = {exemption.check for exemption in exempt}
        self._checks_https = RealmCheck.HTTPS not in skipped
        self._checks_enabled = RealmCheck.ENABLED not in skipped
        self._directory = directory
        self._log = log
        self._always = always
        self._cross_origin = cross_origin
        self._own_origins = own_origins

    @final
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope[EXCHANGE]
        exchange.route = self.route
        checked = self._checked(scope, receive, exchange)
        reply = await answered(checked, exchange, self._log, self._present)
        added = self._always
        if self._cross_origin is not None and exchange.page.may_read:
            added += self._cross_origin.headers(exchange.page, reply)
        if added:
            reply = Reply(reply.status, (*reply.headers, *added), reply.body)
        await send_reply(reply, send)

    @final
    async def _checked(self, scope: Scope, receive: Receive, exchange: Exchange) -> Reply:
        name = scope["path_params"].get("realm")
        entry = None if name is None else await self._find_realm(name, exchange)
        if entry is None and self._unknown_realm_first and name is not None:
            raise RealmNotFound(f"no realm {name[:LONGEST_REALM_NAME]!r}")
        cross_origin = self._cross_origin
        if scope["method"] == "OPTIONS":
            headers = () if cross_origin is None else cross_origin.preflight(exchange)
            return Reply(HTTPStatus.OK, (allow_header(self.methods), *headers))
        if cross_origin is not None and ORIGIN in exchange.facts.headers.values:
            exchange.page = cross_origin.page(exchange, self._own_origins)
        # A method that the endpoint does not have changes and returns nothing: it gets a 405.
        if entry is not None and scope["method"] in self.methods:
            try:
                self._require(entry.realm, exchange)
            except OAuthError as refusal:
                await self._note_refusal(refusal, entry, exchange)
                raise
        return await self._answer(scope, receive, exchange, entry)

    async def _present(self, error: Exception, reply: Reply, exchange: Exchange) -> Reply:  # noqa: ARG002
        """Return what is sent for an error: `reply`, unless the endpoint shows pages."""
        return reply

    async def _note_refusal(  # noqa: B027 - most endpoints record nothing
        self, refusal: OAuthError, entry: RealmEntry, exchange: Exchange
    ) -> None:
        """Record a refusal by the checks of the realm, where the endpoint records them."""

    @abstractmethod
    async def _answer(
        self, scope: Scope, receive: Receive, exchange: Exchange, entry: RealmEntry | None
    ) -> Reply:
        """Return the reply; `entry` is the realm in the path, None where there is none."""

    @final
    def _require(self, realm: Realm, exchange: Exchange) -> None:
        facts = exchange.facts
        if self._checks_https and not facts.secure:
            require_https(realm, facts.remote_address)
        if self._checks_enabled and not realm.enabled:
            raise disabled_realm()

    @final
    async def _find_realm(self, name: str, exchange: Exchange) -> RealmEntry | None:
        # For a realm that is unknown or cannot be read now: it is not looked up a second time.
        exchange.security_headers = _DEFAULT_HEADERS
        entry = await self._directory.realm(name) if len(name) <= LONGEST_REALM_NAME else None
        if entry is not None:
            exchange.realm = entry
            exchange.log.realm = entry.realm.name
            exchange.security_headers = entry.realm.security_headers
        return entry


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
        page: SendingPage = NO_PAGE,
        *,
        uses_certificate: bool = True,
    ) -> ProtocolRequest:
        """Return a request to a realm with its certificate evaluated, if `uses_certificate`."""
        now, evidence = self.clock.now(), facts.certificate if uses_certificate else None
        return ProtocolRequest(
            realm=entry,
            issuer=realm_url(self.public_url, entry.realm.name),
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
        if request.proof.text is not None and entry.realm.protocol.requires_proof_nonce:
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
        form = await read_form(receive, exchange.facts.headers.values)
        query = scope["query_string"]
        return Parameters.from_pairs(form, query_names(query) if query else ())
