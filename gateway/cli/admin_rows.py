"""The operations of the admin API, performed by the local operator without HTTP.

A command names objects as people do; the URLs of the admin API have ids. `AdminRows` finds the
objects of a command line in the lists of the admin API, and runs the row of a method and URL: the
same use case, with its validation, events and invalidation. The operator has every right.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gateway.cli.administration import RealmOperator
from gateway.cli.installation import installed_settings

if TYPE_CHECKING:
    from gateway.bootstrap.object_operations import OperatorOperations
    from gateway.http.admin.operations import Operation

Values = Mapping[str, str]
"""The value of each placeholder of a URL."""
Query = tuple[tuple[str, str], ...]
_MOST_NEAR: Final = "100"
"""Names that are compared with an unknown one, of each search."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A name on the command line, and where its object is found.

    Without a `url` the name itself is the value in URLs.
    """

    metavar: str
    placeholder: str
    what: str = ""
    """The noun for errors."""
    url: str = ""
    """The list of the objects, below the realm; it may have placeholders of earlier arguments."""
    names: tuple[str, ...] = ("name",)
    """Members that people name an object by; a new object gets the first."""
    value: str = "id"
    """The member of an object that URLs have."""
    searches: tuple[Query, ...] = ((),)
    """Queries of the list, one after the other; `{}` is the name."""
    near: tuple[Query, ...] = ()
    """Queries for names that are like an unknown one; `{}` is a part of the name."""
    items: str = ""
    """The member with the list, where the URL returns a document."""
    is_role: bool = False
    """The name is `role`, or `client/role`."""
    is_user: bool = False
    """The name is a user name in any case, or an id."""
    is_group: bool = False
    """The name is the path of a group."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of an operation: parsed JSON or text, entity tag, id of a created object."""

    body: Any
    tag: str | None = None
    created: str = ""


class AdminRows:
    """Runs operations of the admin API on one realm.

    All methods raise what the use cases raise, and NotFound with near names for an unknown name.
    """

    def __init__(self, operator: RealmOperator) -> None:
        self._operator = operator
        self._operations: OperatorOperations | None = None

    @property
    def realm(self) -> str:
        """The name of the realm."""
        return self._operator.acting.realm.name

    async def get(self, url: str, values: Values, query: Query = ()) -> Any:
        """Return the body of a GET."""
        return (await self.run("GET", url, values, query=query)).body

    async def run(
        self,
        method: str,
        url: str,
        values: Values,
        *,
        query: Query = (),
        body: Any = None,
        if_match: str | None = None,
    ) -> Answer:
        """Perform the operation at a URL below the realm."""
        from gateway.http.admin.operations import Media
        from gateway.http.admin.requests import AdminRequest
        from gateway.protocol.requests import Parameters

        row = self._row(method, url)
        if body is None and row.body is not None and row.body.media is Media.LIST:
            body = [] if row.body.required else None
        request = AdminRequest(
            acting=replace(self._operator.acting, if_match=if_match),
            path={"realm": self.realm, **values},
            query=Parameters.from_pairs(query),
            body=body,
            public_url=self._public_url,
            pairs=query,
            url_path=url,
        )
        reply = await row.handler(request)
        headers = dict(reply.headers)
        location = headers.get(b"location", b"").decode()
        is_json = headers.get(b"content-type", b"").startswith(b"application/json")
        content = json.loads(reply.body) if is_json and reply.body else reply.body.decode()
        tag = headers.get(b"etag", b"").decode() or None
        return Answer(content, tag, location.rpartition("/")[2])

    def require_known(self, method: str, url: str, names: Iterable[str]) -> None:
        """Raise UnknownField for a name that the body's declared fields do not have.

        A body without declared fields is not checked here.
        """
        from gateway.representations.json_schema import schemas
        from gateway.representations.refusals import require_known

        body = self._row(method, url).body
        if body is None or not body.schema:
            return
        described = schemas(
            {body.schema}, {} if body.fields is None else {body.schema: body.fields}
        )
        properties = described[body.schema].get("properties")
        if properties:
            require_known(names, properties, body.schema)

    async def resolve(self, arguments: Iterable[Argument], names: Iterable[str]) -> dict[str, str]:
        """Return the values of URLs for the names of a command line."""
        values: dict[str, str] = {}
        for argument, name in zip(arguments, names, strict=True):
            found = await self.find(argument, name, values)
            values[argument.placeholder] = found[argument.value]
        return values

    async def find(self, argument: Argument, name: str, values: Values) -> dict[str, Any]:
        """Return the object with that name, or with that id; raises NotFound and InvalidInput."""
        if argument.is_role:
            return await self._find_role(name)
        if argument.is_user:
            return await self._find_user(name)
        if argument.is_group:
            return await self._find_group(name)
        if not argument.url:
            return {argument.value: name}
        for search in argument.searches:
            found = await self._list(argument, values, search, name)
            matching = _named(found, argument, name)
            if matching:
                return _only(matching, argument, name)
        known = [
            item for query in argument.near for item in await self._near(argument, query, name)
        ]
        like = [item for item in known or found if item.get(argument.value)]
        names = [item[key] for item in like for key in argument.names if item.get(key)]
        raise self._unknown(argument.what, name, names)

    async def _list(
        self, argument: Argument, values: Values, query: Query, name: str
    ) -> list[dict[str, Any]]:
        filled = tuple((key, text.format(name)) for key, text in query)
        found = await self.get(argument.url, values, filled)
        items: list[dict[str, Any]] = found[argument.items] if argument.items else found
        return items

    async def _near(self, argument: Argument, query: Query, name: str) -> list[dict[str, Any]]:
        return [
            item
            for part in (name[:2], f"*{name[1:4]}*")
            for item in await self._list(argument, {}, (*query, ("max", _MOST_NEAR)), part)
        ]

    async def address_of_role(self, name: str) -> tuple[str, dict[str, str]]:
        """Return the URL of `role` or `client/role`, and its values; raises NotFound."""
        client_id, slash, own = name.rpartition("/")
        if not slash:
            return "roles/{role_name}", {"role_name": own}
        client = await self._operator.client(client_id)
        return "clients/{client_id}/roles/{role_name}", {"client_id": client.id, "role_name": own}

    async def _find_role(self, name: str) -> dict[str, Any]:
        from gateway.domain.refusals import NotFound

        url, values = await self.address_of_role(name)
        try:
            found: dict[str, Any] = await self.get(url, values)
        except NotFound:
            roles = await self.get(url.removesuffix("/{role_name}"), values)
            beginning = name[: name.rfind("/") + 1]
            known = [f"{beginning}{role['name']}" for role in roles]
            raise self._unknown("role", name, known) from None
        return found

    async def _find_user(self, name: str) -> dict[str, Any]:
        from gateway.domain.errors import InvalidInput
        from gateway.domain.refusals import NotFound

        try:
            user = await self._operator.user(name)
        except InvalidInput as error:
            raise NotFound(", ".join(map(str, error.errors))) from None
        return {"id": user.id, "username": user.username}

    async def _find_group(self, path: str) -> dict[str, Any]:
        from gateway.domain.refusals import NotFound

        acting, groups = self._operator.acting, self._operator.groups
        try:
            return await groups.get_group_at_path(acting.realm, acting.rights, path)
        except NotFound:
            known = [group.path for group in await groups.groups(acting.realm)]
            raise self._unknown("group", path, known) from None

    def _unknown(self, what: str, name: str, known: Iterable[str]) -> Exception:
        return unknown_name(what, name, self.realm, known)

    @property
    def _public_url(self) -> str:
        return installed_settings().public_url

    def _row(self, method: str, url: str) -> "Operation":
        if self._operations is None:
            from gateway.bootstrap.object_operations import OperatorOperations

            self._operations = OperatorOperations(self._operator.services, self._public_url)
        return self._operations.get_operation(method, url)


def unknown_name(what: str, name: str, realm: str, known: Iterable[str]) -> Exception:
    """Return the error for a name that no object of the realm has, with the nearest known name."""
    from gateway.domain.refusals import NotFound
    from gateway.representations.refusals import suggestion

    return NotFound(f"there is no {what} {name!r} in {realm}{suggestion(name, known)}")


def _named(items: Iterable[dict[str, Any]], argument: Argument, name: str) -> list[dict[str, Any]]:
    """Return the objects with that name, otherwise the one with that id."""
    listed = [item for item in items if item.get(argument.value) is not None]
    for keys in (*((key,) for key in argument.names), (argument.value, "id")):
        found = [item for item in listed if name in (item.get(key) for key in keys)]
        if found:
            return found
    return []


def _only(found: list[dict[str, Any]], argument: Argument, name: str) -> dict[str, Any]:
    from gateway.domain.errors import FieldError, InvalidInput

    if len(found) == 1:
        return found[0]
    ids = ", ".join(str(item["id"]) for item in found)
    sentence = f"there are {len(found)} of the name {name!r}; give one by its id: {ids}"
    raise InvalidInput((FieldError(argument.what, name, ids, sentence=sentence),))
