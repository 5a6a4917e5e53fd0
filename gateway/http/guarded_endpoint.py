"""The one place that checks a request against its realm, before an endpoint reads more of it.

Every route of the application is a `GuardedEndpoint`, which a test of the composition checks.
`sslRequired` and "realm enabled" are checked for each request to a realm, unless the endpoint
declares an exemption and the reason for it. The headers of the realm are written by
`middleware/security_headers.py`. Keycloak: token endpoint, checks 1 and 2; 13
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import ClassVar, Final, final

from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.domain.errors import RealmNotFound
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.realm import Realm, SecurityHeaders
from gateway.http.cross_origin import CrossOrigin
from gateway.http.errors import allow_header, answered
from gateway.http.exchange import Exchange, exchange_of
from gateway.http.replies import Headers, Reply, send_reply
from gateway.protocol.errors import OAuthError
from gateway.protocol.realm_checks import require_enabled, require_https
from gateway.protocol.web_origins import NO_PAGE

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
        exchange = exchange_of(scope)
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
        if cross_origin is not None:
            exchange.page = cross_origin.page(exchange, self._own_origins) or NO_PAGE
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
        if self._checks_https:
            self._require_https(realm, exchange)
        if self._checks_enabled:
            require_enabled(realm)

    @final
    def _require_https(self, realm: Realm, exchange: Exchange) -> None:
        facts = exchange.facts
        require_https(realm, facts.remote_address, secure=facts.secure)

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
