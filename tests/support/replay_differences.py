"""How an answer differs from the recorded one: in its status, its members and their values.

Ids must be the ones that stand for the recorded ids; times, keys, tokens and generated secrets may
be any of their kind; the order of lists may differ.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from tests.support.recorded_exchanges import Exchange
from tests.support.replay import ID, Answer, Replay, pairs

_REALM: Final = re.compile(r"^(/admin/realms|/realms)/[^/?]+")
_CUT: Final = "…"
"""Stands for members that a recording omits."""
_TIMES: Final = frozenset(
    {
        *("createdTimestamp", "expires_in", "refresh_expires_in", "createdDate", "time"),
        *("timestamp", "notBefore", "not-before-policy"),
        *("client.secret.creation.time", "lastAccess", "start", "exp", "iat", "auth_time", "nbf"),
        *("client.secret.rotated.expiration.time", "validTo", "expiration", "lastFailure"),
        *("uptime", "uptimeMillis", "serverTime", "tokens-not-before", "client_id_issued_at"),
    }
)
_GENERATED: Final = frozenset(
    {
        *("secret", "value", "access_token", "refresh_token", "id_token", "session_state", "sid"),
        *("jti", "kid", "publicKey", "certificate", "public_key", "privateKey", "n", "x5c", "x5t"),
        *("x5t#S256", "token", "registrationAccessToken", "registration_access_token", "x", "y"),
        *("secretData", "credentialData", "client_secret", "ETag", "saml.signing.certificate"),
        *("saml.encryption.certificate", "saml.signing.private.key", "jwt.credential.certificate"),
        *("AES", "HS256", "HS512", "RS256", "RSA-OAEP"),  # the active keys
        *("saml.encryption.private.key", "at_hash", "sub", "hash", "ipAddress", "sessionId"),
    }
)


@dataclass(frozen=True, slots=True)
class Difference:
    """`request` without ids and realm; `member` is empty for the status."""

    recording: str
    number: int
    request: str
    member: str
    what: str

    def __str__(self) -> str:
        where = f" {self.member}" if self.member else ""
        return f"{self.recording} {self.number} {self.request}:{where} {self.what}"


def differences(
    name: str, replay: Replay, exchange: Exchange, answer: Answer
) -> Iterator[Difference]:
    """Yield what is not as recorded."""
    request = f"{exchange.method} {request_shape(exchange.path)}"
    if answer.status != exchange.status:
        what = f"status {answer.status} instead of {exchange.status}: {_shown(answer.body)}"
        yield Difference(name, exchange.number, request, "", what)
        return
    if (answer.location is None) != (exchange.location is None):
        what = "missing" if answer.location is None else "added"
        yield Difference(name, exchange.number, request, "Location", what)
    found = _Comparison(replay)
    for member, what in found.compare("", exchange.response, answer.body, ""):
        yield Difference(name, exchange.number, request, member, what)


def request_shape(path: str) -> str:
    """Return a path without realm, ids and query: /admin/realms/{realm}/users/{id}."""
    return ID.sub("{id}", _REALM.sub(r"\1/{realm}", urlsplit(path).path)).rstrip("/")


@dataclass(frozen=True, slots=True)
class _Comparison:
    replay: Replay

    def compare(self, member: str, recorded: Any, own: Any, name: str) -> Iterator[tuple[str, str]]:
        """Yield each member that differs, and how."""
        if isinstance(recorded, dict) and isinstance(own, dict):
            yield from self._members(member, recorded, own)
        elif isinstance(recorded, list) and isinstance(own, list) and name not in _GENERATED:
            yield from self._items(member, recorded, _like_recorded(recorded, own), name)
        elif not self._is_alike(recorded, own, name):
            yield member, f"{_shown(own)} instead of {_shown(recorded)}"

    def _members(
        self, member: str, recorded: dict[str, Any], own: dict[str, Any]
    ) -> Iterator[tuple[str, str]]:
        renamed = {self._renamed(name): value for name, value in recorded.items()}
        for name, value in renamed.items():
            place = f"{member}.{name}" if member else name
            if name == _CUT:
                continue
            if name in own:
                yield from self.compare(place, value, own[name], name)
            else:
                yield place, f"missing, was {_shown(value)}"
        for name, value in own.items():
            if name not in renamed and _CUT not in renamed:
                yield (f"{member}.{name}" if member else name), f"added: {_shown(value)}"

    def _items(
        self, member: str, recorded: list[Any], own: list[Any], name: str
    ) -> Iterator[tuple[str, str]]:
        place = f"{member}[]"
        here = [self._renamed(item) for item in recorded]
        left, right = list(here), list(own)
        for one, other in pairs(here, own):
            yield from self.compare(place, one, other, name)
            left.remove(one)
            right.remove(other)
        for one in left:
            yield place, f"missing, was {_shown(one)}"
        for other in right:
            yield place, f"added: {_shown(other)}"

    def _renamed(self, value: Any) -> Any:
        """Return a recorded value with the server's ids."""
        return json.loads(self.replay.here(json.dumps(value, ensure_ascii=False)))

    def _is_alike(self, recorded: Any, own: Any, name: str) -> bool:
        if recorded == own:
            return True
        if type(recorded) is not type(own):
            return name in _TIMES and isinstance(recorded, int | str) and isinstance(own, int | str)
        if name in _TIMES or name in _GENERATED:
            return True
        if name == "scope":
            return bool(sorted(recorded.split()) == sorted(own.split()))
        return isinstance(recorded, str) and self._renamed(recorded) == own


def _like_recorded(recorded: list[Any], own: list[Any]) -> list[Any]:
    """Return ids alone where a recording kept nothing else of the objects of a list."""
    if recorded and all(isinstance(item, str) for item in recorded):
        return [item["id"] if isinstance(item, dict) and "id" in item else item for item in own]
    return own


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
