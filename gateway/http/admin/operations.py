"""The rows of the admin API's table: the handler of a method and URL, its roles, and its body.

The endpoint follows a row, documentation and OpenAPI are generated from it, and the tests of
permissions read it: so a row has every fact that needs no database.

A body is read strictly and within the limit of its operation. JSON is judged as everywhere: bounded
depth and numbers, no name twice, text that stores can hold.
Keycloak: 7 (admin API), 9 (administrative roles), 0.2 (answers to malformed JSON); Spec: RFC 8259
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypedDict, Unpack

from starlette.types import Receive

from gateway.admin.access import AdminRole, proven_by_operation
from gateway.domain.errors import InvalidInput
from gateway.domain.limits.input_sizes import LARGE_DOCUMENT
from gateway.domain.refusals import InvalidRequest, MalformedBody
from gateway.http.admin.requests import AdminRequest, created, document, done, entity
from gateway.http.edge import EdgeHeaders
from gateway.http.forms import FormRefused, parse_multipart, read_body
from gateway.http.replies import Reply
from gateway.representations.field_table import FieldTable
from gateway.representations.json_input import LastMembers, is_plain_text, parse_json

REALM: Final = "/admin/realms/{realm}"
"""The beginning of the URLs of one realm."""
_MEBIBYTE: Final = 1024 * 1024


AdminHandler = Callable[[AdminRequest], Awaitable[Reply]]
"""Returns the reply to an authorized request, or raises an error that `http/errors.py` maps."""
MANAGE_REALM: Final = (AdminRole.MANAGE_REALM,)
MANAGE_USERS: Final = (AdminRole.MANAGE_USERS,)


class State(StrEnum):
    """How much of Keycloak's endpoint is implemented."""

    WORKS = "works"
    STORED_ONLY = "stored only"
    NOT_SUPPORTED = "not supported"


class Decided(Enum):
    """Who may call an operation that no list of roles decides."""

    ANY_ROLE = "any role over the realm"
    ANY_BUT_IMPERSONATION = "any role over the realm but impersonation"
    BY_USE_CASE = "decided by the use case"


Allowed = tuple[AdminRole, ...] | Decided
"""Roles over the realm of the URL, each of which is sufficient."""


class Media(StrEnum):
    """The kind of a request body."""

    OBJECT = "a JSON object"
    LIST = "a JSON array of objects"
    JSON = "any JSON"
    TEXT = "plain text"
    FORM = "a multipart form"


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request: `schema` is Keycloak's name of the representation, or of an item."""

    schema: str = ""
    media: Media = Media.OBJECT
    largest: int = _MEBIBYTE
    """In bytes."""
    required: bool = True
    unreadable: str = ""
    """The error for a body that is not JSON of this kind, where it is not the usual one."""
    fields: FieldTable | None = None
    """The fields of the schema for OpenAPI, where it is not one of `representations`."""
    repeated_names: bool = False
    """Whether a member may come twice: the last one counts."""


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
"""The value of `returns` for a response that is not JSON."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table."""

    method: str
    path: str
    summary: str
    handler: AdminHandler
    tag: str
    allowed: Allowed
    also: tuple[AdminRole, ...] = ()
    """If not empty, one of these roles is required too."""
    body: Body | None = None
    returns: str = ""
    """Keycloak's name of the returned representation; `[Name]` for a list, empty for nothing."""
    status: int = 0
    """Of success; 0 is 200 for GET, 201 for POST, 204 for PUT and DELETE."""
    query: tuple[Query, ...] = ()
    versioned: bool = False
    """GET returns an ETag, PUT and DELETE honor If-Match."""
    state: State = State.WORKS
    refuses: tuple[int, ...] = ()
    """Statuses for OpenAPI, besides the statuses of every operation of its kind."""
    harmless: str = ""
    """Why a caller may change an object with more rights than its own; empty where it may not."""
    reveals: bool = False
    """A GET whose response gives control of the object, as a secret does."""

    @property
    def success(self) -> int:
        """The status of success."""
        standard = {"GET": HTTPStatus.OK, "POST": HTTPStatus.CREATED}
        return self.status or standard.get(self.method, HTTPStatus.NO_CONTENT)

    @property
    def proven(self) -> str | None:
        """The change of the operation that proves accounts: it needs the rights of all of them.

        Raises ValueError for an operation that is not in account_proof.toml.
        """
        if self.method == "GET" or self.state is State.NOT_SUPPORTED:
            return None
        return proven_by_operation(self.method, self.path)


_PLACEHOLDER: Final = re.compile(r"\{(\w+)")
Address = Callable[[AdminRequest], object]
UseCase = Callable[..., Awaitable[Any]]
Offer = tuple[str, UseCase]
"""The summary of a row, and its use case."""


@dataclass(frozen=True, slots=True)
class UseCaseHandler:
    """Calls a use case with the caller or the realm, the rest of the URL in order, and the body.

    `inputs` read further arguments from the request, by name. Without `reply` the row decides how
    the result is answered: as JSON, with an ETag where the row is versioned; as the location of a
    created object; or as 204.
    """

    use_case: UseCase
    of_realm: bool
    address: Address | None = None
    """Returns the object that the URL names, where it is not the text of each placeholder."""
    names: tuple[str, ...] = ()
    """The placeholders of the URL below the realm."""
    takes_body: bool = False
    reply: Callable[[Awaitable[Any]], Awaitable[Reply]] | None = None
    """Of the result; None: the location of the created object, whose name is the result."""
    inputs: Mapping[str, Callable[[AdminRequest], object]] = field(default_factory=dict)

    def __call__(self, request: AdminRequest) -> Awaitable[Reply]:
        address, path = self.address, request.path
        given = map(path.__getitem__, self.names) if address is None else (address(request),)
        body = (request.body,) if self.takes_body else ()
        subject = request.realm if self.of_realm else request.acting
        named = {name: read(request) for name, read in self.inputs.items()}
        result = self.use_case(subject, *given, *body, **named)
        return created(request, result) if self.reply is None else self.reply(result)

    def for_row(self, row: Operation) -> "UseCaseHandler":
        """Return the handler of the row."""
        names = tuple(name for name in _PLACEHOLDER.findall(row.path) if name != "realm")
        shown = entity if row.versioned and row.method == "GET" else document
        changed = None if row.success == HTTPStatus.CREATED else done
        reply = self.reply or (shown if row.returns else changed)
        return replace(self, names=names, takes_body=row.body is not None, reply=reply)


def as_caller(
    use_case: UseCase,
    address: Address | None = None,
    *,
    reply: Callable[[Awaitable[Any]], Awaitable[Reply]] | None = None,
    **inputs: Address,
) -> UseCaseHandler:
    """Return the handler of a use case whose first parameter is the caller."""
    return UseCaseHandler(use_case, of_realm=False, address=address, reply=reply, inputs=inputs)


def for_realm(
    use_case: UseCase,
    *,
    reply: Callable[[Awaitable[Any]], Awaitable[Reply]] | None = None,
    **inputs: Address,
) -> UseCaseHandler:
    """Return the handler of a use case whose first parameter is the realm."""
    return UseCaseHandler(use_case, of_realm=True, reply=reply, inputs=inputs)


class Options(TypedDict, total=False):
    """Fields of an operation that most rows leave out."""

    tag: str
    allowed: Allowed
    also: tuple[AdminRole, ...]
    body: Body
    returns: str
    status: int
    query: tuple[Query, ...]
    versioned: bool
    state: State
    refuses: tuple[int, ...]
    harmless: str
    reveals: bool


@dataclass(frozen=True, slots=True)
class Resource:
    """What rows share: the beginning of their URLs, and defaults of tag, roles and state.

    `view` are the roles for GET, `manage` those for all other methods.
    """

    path: str
    tag: str
    view: Allowed
    manage: Allowed
    state: State = State.WORKS

    def get(
        self, path: str, summary: str, handler: AdminHandler, **options: Unpack[Options]
    ) -> Operation:
        return self._row("GET", path, summary, handler, options)

    def post(
        self, path: str, summary: str, handler: AdminHandler, **options: Unpack[Options]
    ) -> Operation:
        return self._row("POST", path, summary, handler, options)

    def put(
        self, path: str, summary: str, handler: AdminHandler, **options: Unpack[Options]
    ) -> Operation:
        return self._row("PUT", path, summary, handler, options)

    def delete(
        self, path: str, summary: str, handler: AdminHandler, **options: Unpack[Options]
    ) -> Operation:
        return self._row("DELETE", path, summary, handler, options)

    def entities(
        self,
        one: str,
        schema: str,
        *,
        lists: Offer | None = None,
        creates: Offer | None = None,
        gets: Offer | None = None,
        replaces: Offer | None = None,
        deletes: Offer | None = None,
        list_roles: Allowed | None = None,
        address: Address | None = None,
    ) -> Iterator[Operation]:
        """Yield the rows that most kinds have, each by its summary and its use case.

        Those of the URL `one`, which `address` reads, have entity tags.
        """
        body, of_one = Body(schema), partial(as_caller, address=address)
        if lists:
            allowed, summary, call = list_roles or self.view, lists[0], as_caller(lists[1])
            yield self.get("", summary, call, allowed=allowed, returns=f"[{schema}]")
        if creates:
            yield self.post("", creates[0], as_caller(creates[1]), body=body)
        if gets:
            yield self.get(one, gets[0], of_one(gets[1]), returns=schema, versioned=True)
        if replaces:
            yield self.put(one, replaces[0], of_one(replaces[1]), body=body, versioned=True)
        if deletes:
            yield self.delete(one, deletes[0], of_one(deletes[1]), versioned=True)

    def _row(
        self, method: str, path: str, summary: str, handler: AdminHandler, options: Options
    ) -> Operation:
        allowed = self.view if method == "GET" else self.manage
        url = f"{self.path}{path}"
        row = Operation(method, url, summary, handler, self.tag, allowed, state=self.state)
        row = replace(row, **options)
        if isinstance(handler, UseCaseHandler):
            return replace(row, handler=handler.for_row(row))
        return row


_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


async def read_admin_body(receive: Receive, headers: EdgeHeaders, wanted: Body) -> Any:
    """Return JSON, text or the parts of a form; None where nothing came and nothing is required.

    Raises FormRefused (413, 415) and MalformedBody, or InvalidRequest by the row.
    """
    try:
        return await _read_media(receive, headers, wanted)
    except MalformedBody as error:
        if not wanted.unreadable:
            raise
        raise InvalidRequest(wanted.unreadable) from error


async def _read_media(receive: Receive, headers: EdgeHeaders, wanted: Body) -> Any:
    sent = headers.values
    body = await read_body(receive, sent.get(b"content-length"), wanted.largest)
    if not body:
        if wanted.required and wanted.media is not Media.TEXT:
            raise MalformedBody("no body")
        return "" if wanted.media is Media.TEXT else None
    if wanted.media is Media.FORM:
        return parse_multipart(body, sent.get(b"content-type"))
    kind = sent.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if wanted.media is Media.TEXT:
        # Keycloak's own clients send texts as JSON strings now and then, by habit of their headers.
        if kind not in {_TEXT, _JSON, b""}:
            raise FormRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "no plain text")
        return _parse_text(body)
    # Keycloak treats a body without a content type as the expected one.
    if kind not in {_JSON, b""}:
        raise FormRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not JSON")
    if len(body) > LARGE_DOCUMENT:
        # A whole realm takes seconds to judge: the other requests go on meanwhile.
        return await asyncio.to_thread(_parse_json, body, wanted)
    return _parse_json(body, wanted)


def _parse_json(body: bytes, wanted: Body) -> Any:
    media = wanted.media
    # Files may begin with one, messages must not: RFC 8259 §8.1.
    if body.startswith(_BYTE_ORDER_MARK):
        raise MalformedBody("a byte order mark before the JSON")
    repetitions: list[str] = []
    try:
        value = parse_json(body, "the body", repetitions if wanted.repeated_names else None)
    except InvalidInput as error:
        # Keycloak reads no further than the first sign of another kind.
        other = media is Media.LIST and not body.lstrip().startswith(b"[")
        raise MalformedBody(str(error), shape=other) from error
    if media is Media.LIST:
        fits = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    else:
        fits = media is not Media.OBJECT or isinstance(value, dict)
    if not fits:
        raise MalformedBody(f"not {media}", shape=True)
    return LastMembers(value, repetitions) if repetitions else value


def _parse_text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedBody("not UTF-8") from error
    if not is_plain_text(text):
        raise MalformedBody("text that cannot be stored")
    return text
