"""Sending a recording to another server, whose ids, secrets and tokens are its own."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from tests.support.recorded_exchanges import RECORDED_SERVER, Exchange

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SESSION = re.compile(r"(?<=[/\"])[\w-]{24}(?=[/\"]|$)")
"""A session's id, which is no UUID, in a path or in JSON."""
_OF_EXCHANGE = re.compile(r"(\w+) of exchange ([0-9]+)")
_NAMES = (
    *("name", "alias", "clientId", "username", "mapperName", "providerId", "resourceName"),
    *("displayName", "flowAlias"),
)
_GENERATED = frozenset(
    {"id", "secret", "value", "registrationAccessToken", "token", "session_state"}
)
_LONG = 16
"""The least length of a value that must have been generated."""
MASK = "**********"


class HttpResponse(Protocol):
    """What the replay reads of a response."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...
    @property
    def text(self) -> str: ...
    def json(self) -> Any:
        """Return the document; ValueError where the body is none."""


class HttpClient(Protocol):
    """Whatever sends requests: httpx2 in the tests, a client that takes the time in the bench."""

    def request(
        self, method: str, url: str, *, headers: dict[str, str], content: bytes | None
    ) -> HttpResponse: ...


class ReplayServer(Protocol):
    """A server whose administrator `admin` has this password."""

    @property
    def url(self) -> str: ...
    @property
    def password(self) -> str: ...
    @property
    def http(self) -> HttpClient: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server under test answered; ids in it are written as in the recording."""

    status: int
    location: str | None
    body: Any


@dataclass(slots=True)
class Replay:
    """One run of a recording."""

    server: ReplayServer
    known: dict[str, str] = field(default_factory=dict)
    """Ids and generated values of the recording, with those of the server."""
    generated: dict[str, str] = field(default_factory=dict)
    """Those of them that may stand anywhere in a text, since they are no ids."""
    tokens: dict[tuple[str, int], str] = field(default_factory=dict)

    def run(self, recording: tuple[Exchange, ...]) -> Iterator[tuple[Exchange, Answer]]:
        """Send one request after the other."""
        for exchange in recording:
            yield exchange, self._send(exchange)

    def _send(self, exchange: Exchange) -> Answer:
        headers = self._authorization(exchange)
        content = self._content(exchange)
        if exchange.media_type:
            headers["Content-Type"] = exchange.media_type
        response = self.server.http.request(
            exchange.method,
            self.server.url + self.here(exchange.path),
            headers=headers,
            content=content,
        )
        try:
            body = response.json() if response.content else None
        except ValueError:
            body = response.text
        location = response.headers.get("location")
        if response.status_code == exchange.status:
            self._learn(exchange.location, location)
            self._learn(exchange.response, body)
        if isinstance(body, dict):
            for name in ("access_token", "refresh_token", "registrationAccessToken"):
                if name in body:
                    self.tokens[name, exchange.number] = body[name]
        return Answer(response.status_code, location, body)

    def _authorization(self, exchange: Exchange) -> dict[str, str]:
        kind, _, whose = exchange.auth.partition(": ")
        if kind == "basic":
            secret = self.known.get(f"secret of {whose}", "")
            pair = base64.b64encode(f"{whose}:{secret}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        if kind != "bearer":
            return {}
        given = _OF_EXCHANGE.fullmatch(whose)
        token = self.tokens.get((given[1], int(given[2]))) if given else None
        return {"Authorization": f"Bearer {token or 'not.a.token'}"}

    def _content(self, exchange: Exchange) -> bytes | None:
        request = exchange.request
        if request is None:
            return None
        if isinstance(request, str):
            return self.here(request).encode()
        document = json.loads(self.here(json.dumps(request, ensure_ascii=False)))
        if "form-urlencoded" in exchange.media_type:
            return self._form(exchange, document)
        self._learn_chosen(document)
        return json.dumps(document).encode()

    def _form(self, exchange: Exchange, form: dict[str, Any]) -> bytes:
        if form.get("username") == "admin" and "/realms/master/" in exchange.path:
            form["password"] = self.server.password
        for name, value in form.items():
            given = _OF_EXCHANGE.search(str(value))
            if given is not None:
                form[name] = self.tokens.get((given[1], int(given[2])), "not.a.token")
        return urlencode(form, doseq=True).encode()

    def _learn_chosen(self, document: Any) -> None:
        """Remember the secrets that requests choose for clients."""
        if isinstance(document, list):
            for item in document:
                self._learn_chosen(item)
        elif isinstance(document, dict):
            if isinstance(document.get("secret"), str) and MASK not in document["secret"]:
                self.known[f"secret of {document.get('clientId')}"] = document["secret"]
            for value in document.values():
                self._learn_chosen(value)

    def here(self, text: str) -> str:
        """Return a path or JSON of the recording with the server's ids, secrets and URL."""
        for pattern in (ID, _SESSION):
            text = pattern.sub(lambda found: self.known.get(found[0], found[0]), text)
        for recorded, own in self.generated.items():
            text = text.replace(recorded, own)
        return text.replace(RECORDED_SERVER, self.server.url)

    def _learn(self, recorded: Any, own: Any, name: str = "") -> None:
        """Remember which of the server's ids and generated values stand for the recorded ones."""
        if isinstance(recorded, dict) and isinstance(own, dict):
            self._learn_members(recorded, own)
        elif isinstance(recorded, list) and isinstance(own, list):
            for one, other in pairs(recorded, own):
                self._learn(one, other)
        elif isinstance(recorded, str) and isinstance(own, str) and recorded != own:
            ids, others = ID.findall(recorded), ID.findall(own)
            if ids and len(ids) == len(others):
                for one, other in zip(ids, others, strict=True):
                    self.known.setdefault(one, other)
            elif name in _GENERATED and len(recorded) >= _LONG and MASK not in recorded:
                self.generated[recorded] = self.known.setdefault(recorded, own)

    def _learn_members(self, recorded: dict[str, Any], own: dict[str, Any]) -> None:
        if "clientId" in recorded and isinstance(own.get("secret"), str):
            self.known[f"secret of {recorded['clientId']}"] = own["secret"]
        for member, value in recorded.items():
            self._learn(value, own.get(member), member)
            if ID.fullmatch(member) and member not in self.known:
                alike = (key for key, one in own.items() if one == value and ID.fullmatch(key))
                self.known[member] = next(alike, member)


def pairs(recorded: list[Any], own: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the items of two lists that stand for each other: those that are most alike."""
    rest = list(own)
    for item in recorded:
        found = _most_alike(item, rest)
        if found is not None:
            rest.remove(found)
            yield item, found


def _most_alike(item: Any, others: list[Any]) -> Any:
    """Return the item with the same name and most of the same values."""
    if not isinstance(item, dict):
        return item if item in others else None
    objects = [other for other in others if isinstance(other, dict)]
    name = next((name for name in _NAMES if _is_name(item.get(name))), None)
    if name is not None:
        objects = [other for other in objects if other.get(name) == item[name]]
    return max(objects, key=lambda other: _likeness(item, other), default=None)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and not ID.fullmatch(value)


def _likeness(item: dict[str, Any], other: dict[str, Any]) -> int:
    return sum(1 for name, value in item.items() if other.get(name) == value)
