"""The URL `/`: leads a browser to an account console, or to the sign-in in front of it.

The console is that of the only realm beside `master`, and of `master` where there are none or
several. Other clients get the 404 of any URL that does not exist.
"""

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from starlette.routing import Route
from starlette.types import Receive, Scope

from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER
from gateway.http.errors import UNMATCHED, MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.pages import AccountLinks
from gateway.http.realm_endpoint import GuardedEndpoint, RealmContext
from gateway.http.replies import NOT_KEPT, Headers, Reply, prose_error

_PATH: Final = "/"
_METHODS: Final = ("GET", "HEAD")
_COUNTED: Final = 3
"""Names of realms that are read: `master` and two more."""
_KEPT: Final = timedelta(seconds=2)
"""Any caller may ask: the names are read once in that time."""
_VARY: Final[Headers] = ((b"vary", b"Accept"),)


class HomeEndpoint(GuardedEndpoint):
    """Redirects browsers. Belongs to one event loop."""

    def __init__(self, database: Database, accounts: AccountLinks, context: RealmContext) -> None:
        super().__init__(_PATH, context.directory, context.log, methods=_METHODS, always=_VARY)
        self._database = database
        self._accounts = accounts
        self._clock = context.clock
        self._names: tuple[str, ...] = ()
        self._read_again_at = datetime.min.replace(tzinfo=UTC)

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - a GET has no body
        exchange: Exchange,
        entry: RealmEntry | None,  # noqa: ARG002 - the path names no realm
    ) -> Reply:
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        if "text/html" in (exchange.facts.headers.text(b"accept") or ""):
            for name in await self._candidates():
                realm = await self._directory.realm(name)
                url = "" if realm is None else await self._accounts.find_url(realm.realm)
                if url:
                    location = (b"location", url.encode("ascii"))
                    return Reply(HTTPStatus.FOUND, (location, *NOT_KEPT))
        return prose_error(HTTPStatus.NOT_FOUND, UNMATCHED)

    async def _candidates(self) -> tuple[str, ...]:
        """Return the realms of which the first with a console is taken; raises StoreUnavailable."""
        now = self._clock.now()
        if now >= self._read_again_at:
            async with self._database.read() as stores:
                self._names = await stores.realms.list_names(_COUNTED)
            self._read_again_at = now + _KEPT
        others = [name for name in self._names if name != MASTER]
        return (*others, MASTER) if len(others) == 1 else (MASTER,)


def build_home_route(database: Database, accounts: AccountLinks, context: RealmContext) -> Route:
    """Return the URL."""
    return Route(_PATH, HomeEndpoint(database, accounts, context))
