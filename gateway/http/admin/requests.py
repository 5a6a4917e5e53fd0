"""One request of the admin API, authenticated and parsed, and the replies to it.

Keycloak: 7 (admin API).
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from gateway.admin.access import Acting, ListingPage, Rights
from gateway.admin.changes import RenderedDocument
from gateway.domain.limits.input_sizes import LARGE_DOCUMENT, free_in_slices
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, UnknownPage, WireFamily
from gateway.http.edge import EdgeFacts
from gateway.http.replies import JSON_UTF8, Reply, json_reply, large_json_reply
from gateway.protocol.requests import Parameters

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_LARGEST: Final = 2**31 - 1
_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH: Final = re.compile(r"\+?[0-9]{1,19}")
_FIRST_INSTANT: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MILLISECOND: Final = 253_402_300_799_999
"""The end of the year 9999."""


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """The caller, the realm, and the contents of path, query and body.

    Where the URL names no realm, it is the caller's own. `body` is None, parsed JSON or text.
    """

    acting: Acting
    path: Mapping[str, str]
    query: Parameters = field(repr=False)
    body: Any = field(repr=False, default=None)
    public_url: str = ""
    pairs: tuple[tuple[str, str], ...] = field(repr=False, default=())
    """The query as it was sent, repeated names included."""
    url_path: str = ""
    """As it was sent, without the prefix /auth and a slash at the end."""
    facts: EdgeFacts | None = field(repr=False, default=None)
    """What the edge knows of the request, for operations that set cookies."""

    @property
    def realm(self) -> Realm:
        return self.acting.realm

    @property
    def rights(self) -> Rights:
        return self.acting.rights

    def url(self, *segments: str) -> str:
        """Return an absolute URL of the realm of the request."""
        parts = ("admin", "realms", self.realm.name, *segments)
        return "/".join((self.public_url, *(quote(part, safe="") for part in parts)))

    def every(self, name: str) -> tuple[str, ...]:
        """Return all values of a name of the query that may be repeated."""
        return tuple(value for given, value in self.pairs if given == name)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean of the query, in any case; anything but true is false."""
        text = self.query.get(name)
        return default if text is None else text.lower() == "true"

    def number(self, name: str) -> int | None:
        """Return an integer of the query; raises UnknownPage for anything else."""
        text = self.query.get(name)
        if text is None:
            return None
        if not _INTEGER.fullmatch(text) or abs(int(text)) > _LARGEST:
            raise UnknownPage(name)
        return int(text)

    def page(self, standard: int | None = None) -> tuple[int, int | None]:
        """Return `first` and `max`, None for all; a negative `max` asks for all."""
        first, maximum = self.number("first"), self.number("max")
        limit = standard if maximum is None else maximum if maximum >= 0 else None
        return max(0, first or 0), limit

    def text(self, name: str) -> str:
        """Return a text of the query, empty where it is missing."""
        return self.query.get(name) or ""

    def instant(self, name: str) -> tuple[datetime, datetime | None] | None:
        """Return the beginning of the day or millisecond, and of the next one, None for none.

        Raises InvalidRequest with Keycloak's text. Keycloak: 10.5 (dates)
        """
        text = self.query.get(name)
        if text is None:
            return None
        if _EPOCH.fullmatch(text) and int(text) < 2**63:
            milliseconds = timedelta(milliseconds=min(int(text), _LAST_MILLISECOND))
            return _period(_FIRST_INSTANT + milliseconds, timedelta(milliseconds=1))
        try:
            day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
        except ValueError:
            day = None
        if day is None:
            expected = "expected format is yyyy-MM-dd or an Epoch timestamp"
            raise InvalidRequest(f"Invalid value for '{name}', {expected}", WireFamily.PROSE)
        return _period(datetime.combine(day, time(), UTC), timedelta(days=1))


def listing_page(request: AdminRequest) -> ListingPage:
    """Return the page that the query asks for, the standard one without `max`."""
    return ListingPage(*request.page(ListingPage().maximum))


def read_flag(name: str, *, default: bool = False) -> Callable[[AdminRequest], bool]:
    """Return the function that reads a boolean of the query."""
    return lambda request: request.flag(name, default=default)


IS_BRIEF: Final = read_flag("briefRepresentation", default=True)
WANTS_BRIEF: Final = read_flag("briefRepresentation")
"""The same for lists that are not brief unless a request says so."""


def _period(beginning: datetime, length: timedelta) -> tuple[datetime, datetime | None]:
    try:
        return beginning, beginning + length
    except OverflowError:
        return beginning, None


def document_reply(value: object, *, status: int = HTTPStatus.OK) -> Reply:
    """Return a value as JSON."""
    return json_reply(value, status=status, content_type=JSON_UTF8)


async def document(value: Awaitable[object]) -> Reply:
    """Return the result of a use case as JSON."""
    held: list[object] = [await value]
    reply = await large_json_reply(held[0], content_type=JSON_UTF8)
    if len(reply.body) > LARGE_DOCUMENT:
        await free_in_slices(held)
    return reply


async def constant(value: object) -> Reply:
    """Return a value that no use case has to find as JSON."""
    return document_reply(value)


async def counted(number: Awaitable[int]) -> Reply:
    """Return a number as `{"count": number}`."""
    return document_reply({"count": await number})


def entity_reply(value: object, response: object = None) -> Reply:
    """Return an entity with its ETag, or `response` in its place where it holds more."""
    rendered = RenderedDocument.of(value)
    if response is None:
        return rendered_reply(rendered)
    return json_reply(response, headers=(_tag(rendered),), content_type=JSON_UTF8)


def rendered_reply(rendered: RenderedDocument) -> Reply:
    """Return an entity that was rendered before."""
    return Reply(HTTPStatus.OK, (JSON_UTF8, _tag(rendered)), rendered.body)


def _tag(rendered: RenderedDocument) -> tuple[bytes, bytes]:
    return b"etag", rendered.tag.encode("ascii")


async def entity(value: Awaitable[object]) -> Reply:
    """Return an entity with its ETag, for which a later change may ask by If-Match."""
    return entity_reply(await value)


def created_reply(request: AdminRequest, name: str) -> Reply:
    """Return 201 with the location of `name` below the URL of the request."""
    return created_at_reply(f"{request.public_url}{request.url_path}/{quote(name, safe='')}")


async def created(request: AdminRequest, name: Awaitable[str]) -> Reply:
    """Return 201 with the location of the created object."""
    return created_reply(request, await name)


def created_at_reply(location: str) -> Reply:
    """Return 201 with an absolute URL."""
    return Reply(HTTPStatus.CREATED, ((b"location", location.encode("ascii")),))


async def done(action: Awaitable[object]) -> Reply:
    """Return 204 once the action is done."""
    await action
    return Reply(HTTPStatus.NO_CONTENT)
