"""One request of the admin API, authenticated and read, and the replies to it. Keycloak: 7."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from gateway.admin.access import Acting, Rights, UnknownPage, entity_tag
from gateway.domain.realm import Realm
from gateway.http.replies import JSON_UTF8, Reply, json_reply
from gateway.protocol.parameters import Parameters

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_LARGEST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """Who asks, about which realm, and what is in path, query and body.

    Where the URL names no realm, it is the caller's own. `body` is None, parsed JSON or text.
    """

    acting: Acting
    path: Mapping[str, str]
    query: Parameters = field(repr=False)
    body: Any = field(repr=False, default=None)
    public_url: str = ""
    pairs: tuple[tuple[str, str], ...] = field(repr=False, default=())
    """The query as it was sent, names that come several times included."""
    url_path: str = ""
    """As it was asked for, without the prefix /auth and a slash at the end."""

    @property
    def realm(self) -> Realm:
        """The realm of the URL."""
        return self.acting.realm

    @property
    def rights(self) -> Rights:
        """What the caller may do to it."""
        return self.acting.rights

    def url(self, *segments: str) -> str:
        """Return an absolute URL of the realm of the request."""
        parts = ("admin", "realms", self.realm.name, *segments)
        return "/".join((self.public_url, *(quote(part, safe="") for part in parts)))

    def every(self, name: str) -> tuple[str, ...]:
        """Return all values of a name of the query that may come several times."""
        return tuple(value for given, value in self.pairs if given == name)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a truth value of the query, however it is capitalised; else but true is false."""
        text = self.query.get(name)
        return default if text is None else text.lower() == "true"

    def number(self, name: str) -> int | None:
        """Return a whole number of the query; raises UnknownPage for anything else."""
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


def document_reply(document: object, *, status: int = HTTPStatus.OK) -> Reply:
    """Return what was asked for, as JSON."""
    return json_reply(document, status=status, content_type=JSON_UTF8)


def entity_reply(document: object, beside: object = None) -> Reply:
    """Return one entity with its ETag, by which a later change may say what it knew.

    What is answered may be more than the entity: that and more is `beside` then.
    """
    tag = (b"etag", entity_tag(document).encode("ascii"))
    answer = document if beside is None else beside
    return json_reply(answer, headers=(tag,), content_type=JSON_UTF8)


def created_reply(request: AdminRequest, name: str) -> Reply:
    """Return that something was made below the URL of the request."""
    return created_at_reply(f"{request.public_url}{request.url_path}/{quote(name, safe='')}")


def created_at_reply(location: str) -> Reply:
    """Return that something was made, at an absolute URL."""
    return Reply(HTTPStatus.CREATED, ((b"location", location.encode("ascii")),))


def done_reply() -> Reply:
    """Return that it is done."""
    return Reply(HTTPStatus.NO_CONTENT)
