"""The rows of the admin API's route table: what a method of a URL does, and who may.

The endpoint obeys a row, the documentation and OpenAPI are written from it, and the tests of who
may what walk along the table: so a row says all that can be said without asking the database.
Keycloak: 7, 9
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import Enum, StrEnum
from http import HTTPStatus
from typing import Final, Protocol

from gateway.admin.access import AdminRole
from gateway.http.admin.requests import AdminRequest
from gateway.http.replies import Reply

REALM: Final = "/admin/realms/{realm}"
"""What the URLs of one realm begin with."""
_MEBIBYTE: Final = 1024 * 1024


class AdminHandler(Protocol):
    """Answers one request whose caller may ask it."""

    def __call__(self, request: AdminRequest, /) -> Awaitable[Reply]:
        """Return the reply, or raise what `http/errors.py` knows."""
        ...


class State(StrEnum):
    """How much of Keycloak's endpoint there is."""

    WORKS = "works"
    STORED_ONLY = "stored only"
    NOT_HERE = "not here"


class Decided(Enum):
    """Who may, where one role more or less does not tell."""

    ANY_ROLE = "any role over the realm"
    BY_USE_CASE = "the use case looks closer"


class Media(StrEnum):
    """What kind of body is sent."""

    OBJECT = "a JSON object"
    LIST = "a JSON array"
    JSON = "any JSON"
    TEXT = "plain text"
    FORM = "a multipart form"


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request: `schema` is Keycloak's name of the representation, or of an item."""

    media: Media
    schema: str = ""
    largest: int = _MEBIBYTE
    """In bytes."""
    required: bool = True
    unreadable: str = ""
    """What is said of a body that is no JSON, or JSON of another kind, where it is not usual."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query parameter that has an effect. `kind` is a JSON type."""

    name: str
    kind: str = "string"
    summary: str = ""


PAGING: Final = (Query("first", "integer"), Query("max", "integer"))
SEARCH: Final = (Query("search"), *PAGING)
BRIEF: Final = Query("briefRepresentation", "boolean")


PLAIN_TEXT: Final = "text"
"""What `returns` says of an answer that is no JSON."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One row. Roles in `allowed` are each sufficient, over the realm of the URL."""

    method: str
    path: str
    handler: AdminHandler
    allowed: tuple[AdminRole, ...] | Decided
    summary: str
    tag: str
    also: tuple[AdminRole, ...] = ()
    """One of these is needed too, where there are any."""
    body: Body | None = None
    returns: str = ""
    """Keycloak's name of what is answered; `[Name]` for a list, empty for nothing."""
    status: int = 0
    """Of success; 0 is 200 for GET, 201 for POST, 204 for PUT and DELETE."""
    query: tuple[Query, ...] = ()
    versioned: bool = False
    """GET tells an ETag, PUT and DELETE honour If-Match."""
    state: State = State.WORKS
    refuses: tuple[int, ...] = ()
    """Statuses beyond those that every operation of its kind may answer."""
    harmless: str = ""
    """Why a caller may change an object with more rights than its own; empty where it may not."""
    reveals: bool = False
    """A GET whose answer gives control of the object, as a secret does."""

    @property
    def success(self) -> int:
        """The status of success."""
        standard = {"GET": HTTPStatus.OK, "POST": HTTPStatus.CREATED}
        return self.status or standard.get(self.method, HTTPStatus.NO_CONTENT)
