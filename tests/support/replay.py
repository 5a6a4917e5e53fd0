"""Sending a recording to another server, whose ids, secrets and tokens are its own."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.administered_server import AdministeredServer
from tests.support.recorded_exchanges import RECORDED_SERVER, Exchange

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OF_EXCHANGE = re.compile(r"(\w+) of exchange ([0-9]+)")
_NAMES = ("name", "alias", "clientId", "username", "providerId", "displayName", "id")
_GENERATED = frozenset({"secret", "value", "registrationAccessToken", "token"})
_LONG = 16
"""Characters of a value that somebody else cannot have chosen."""
MASK = "**********"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server under test answered; ids in it are written as in the recording."""

    status: int
    location: str | None
    body: Any


@dataclass(slots=True)
class Replay:
    """One run of a recording."""

    server: AdministeredServer
    known: dict[str, str] = field(default_factory=dict)
    """Ids and generated values of the recording, with those of the server."""
    tokens: dict[tuple[str, int], str] = field(default_factory=dict)
    administrators: set[int] = field(default_factory=set)

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
            self.server.url + self._here(exchange.path),
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
        token = "not.a.token"
        if given is not None and int(given[2]) in self.administrators:
            token = self.server.token()
        elif given is not None:
            token = self.tokens.get((given[1], int(given[2])), token)
        return {"Authorization": f"Bearer {token}"}

    def _content(self, exchange: Exchange) -> bytes | None:
        request = exchange.request
        if request is None:
            return None
        if isinstance(request, str):
            return self._here(request).encode()
        document = json.loads(self._here(json.dumps(request, ensure_ascii=False)))
        if "form-urlencoded" in exchange.media_type:
            return self._form(exchange, document)
        return json.dumps(document).encode()

    def _form(self, exchange: Exchange, form: dict[str, Any]) -> bytes:
        if form.get("username") == "admin" and "/realms/master/" in exchange.path:
            form["password"] = self.server.password
            self.administrators.add(exchange.number)
        for name, value in form.items():
            given = _OF_EXCHANGE.search(str(value))
            if given is not None:
                form[name] = self.tokens.get((given[1], int(given[2])), "not.a.token")
        return _encoded(form)

    def _here(self, text: str) -> str:
        """Return a text of the recording with the server's ids and secrets."""
        text = _ID.sub(lambda found: self.known.get(found[0], found[0]), text)
        for recorded, own in self.known.items():
            if len(recorded) >= _LONG and not _ID.fullmatch(recorded):
                text = text.replace(recorded, own)
        return text.replace(RECORDED_SERVER, self.server.url)

    def _learn(self, recorded: Any, own: Any, name: str = "") -> None:
        """Remember which of the server's ids and generated values stand for the recorded ones."""
        if isinstance(recorded, dict) and isinstance(own, dict):
            if "clientId" in recorded and isinstance(own.get("secret"), str):
                self.known[f"secret of {recorded['clientId']}"] = own["secret"]
            for member, value in recorded.items():
                self._learn(value, own.get(member), member)
        elif isinstance(recorded, list) and isinstance(own, list):
            for one, other in pairs(recorded, own):
                self._learn(one, other)
        elif isinstance(recorded, str) and isinstance(own, str) and recorded != own:
            ids, others = _ID.findall(recorded), _ID.findall(own)
            if ids and len(ids) == len(others):
                for one, other in zip(ids, others, strict=True):
                    self.known.setdefault(one, other)
            elif name in _GENERATED and len(recorded) >= _LONG and MASK not in recorded:
                self.known.setdefault(recorded, own)


def pairs(recorded: list[Any], own: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the items of two lists that stand for each other, by name or else by place."""
    rest = list(own)
    for place, item in enumerate(recorded):
        found = _named_alike(item, rest)
        if found is None and not isinstance(item, dict) and item in rest:
            found = item
        if found is None and len(recorded) == len(own) and not _is_named(item):
            found = own[place]
        if found is not None:
            if found in rest:
                rest.remove(found)
            yield item, found


def _is_named(item: Any) -> bool:
    return isinstance(item, dict) and any(item.get(name) is not None for name in _NAMES)


def _named_alike(item: Any, others: list[Any]) -> Any:
    if not isinstance(item, dict):
        return None
    for name in _NAMES:
        if item.get(name) is not None:
            alike = [
                other
                for other in others
                if isinstance(other, dict) and other.get(name) == item[name]
            ]
            return alike[0] if alike else None
    return None


def _encoded(form: dict[str, Any]) -> bytes:
    from urllib.parse import urlencode

    return urlencode(form, doseq=True).encode()
