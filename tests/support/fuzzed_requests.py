"""Requests that no client should send, made from a seed: forms, headers, tokens and documents."""

import copy
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

ENDPOINTS: Final = (
    "protocol/openid-connect/token",
    "protocol/openid-connect/token/introspect",
    "protocol/openid-connect/revoke",
    "protocol/openid-connect/userinfo",
    "protocol/openid-connect/logout",
    "protocol/openid-connect/certs",
    ".well-known/openid-configuration",
    "clients-registrations/default",
    "clients-registrations/openid-connect",
    "clients-registrations/install/page",
    "",
)
_METHODS: Final = ("POST",) * 8 + ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")
_FORM: Final = "application/x-www-form-urlencoded"
_TYPES: Final = (
    *(_FORM,) * 6,
    f"{_FORM}; charset=utf-16",
    "application/json",
    "multipart/form-data; boundary=x",
    "text/plain",
    "a" * 300,
    "",
)
_PARAMETERS: Final = (
    *("grant_type", "client_id", "client_secret", "username", "password", "scope", "token"),
    *("refresh_token", "token_type_hint", "totp", "code", "redirect_uri", "client_assertion"),
    *("client_assertion_type", "access_token", "id_token_hint", "claims", "x" * 200, "", "a[b]"),
)
_TEXTS: Final = (
    *("", " ", "\0", "\n", "\r\nX-Injected: yes", "%", "%00", "../..", "${client_id}", "'--"),
    *("{}", "[]", "null", "true", "-1", "0", "9" * 400, "1e999", "\u0430dmin", "\u202e", "\ufeff"),
    *("\U0001f600" * 50, "a" * 5000, "a b " * 500, "openid " * 300, "\x7f", "\\", '"', "<b>"),
)
_SCALARS: Final[tuple[Any, ...]] = (
    *(None, "", 0, -1, 1, 2**31, 2**63, -(2**70), 1.5, 1e308, True, False, [], {}),
    *([None], [[]], {"a": None}, {"": ""}, ["x"] * 200, "true", "x" * 5000, "\0", "\ud83d"),
)


@dataclass(frozen=True, slots=True)
class FuzzedRequest:
    """One request below a realm."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def protocol_requests(
    seed: int, known: Mapping[str, tuple[str, ...]], tokens: tuple[str, ...]
) -> Iterator[FuzzedRequest]:
    """Yield requests to protocol endpoints without end.

    `known` are right values by parameter, of which most requests have some; `tokens` are genuine.
    """
    chance = random.Random(seed)  # noqa: S311 - a seed makes the run repeatable
    while True:
        path = chance.choice(ENDPOINTS)
        headers = {"Content-Type": chance.choice(_TYPES)}
        if chance.random() < 1 / 2:
            headers["Authorization"] = _authorization(chance, tokens)
        if chance.random() < 1 / 10:
            headers[chance.choice(("Accept", "If-None-Match", "Origin"))] = _header_text(chance)
        body = _json(chance) if "json" in headers["Content-Type"] else _form(chance, known, tokens)
        yield FuzzedRequest(chance.choice(_METHODS), path, headers, body)


def mutated(chance: random.Random, document: Any, kept: frozenset[str]) -> Any:
    """Return the document with one to three of its nodes changed; keys of `kept` stay."""
    changed = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        _mutate(chance, changed, kept)
    return changed


def _mutate(chance: random.Random, node: Any, kept: frozenset[str]) -> None:
    while isinstance(node, (dict, list)) and node:
        if isinstance(node, dict):
            keys = [key for key in node if key not in kept]
            if not keys:
                return
            key: Any = chance.choice(keys)
        else:
            key = chance.randrange(len(node))
        if isinstance(node[key], (dict, list)) and node[key] and chance.random() < 2 / 3:
            node = node[key]
            continue
        _replace(chance, node, key)
        return


def _replace(chance: random.Random, node: Any, key: Any) -> None:
    dice = chance.random()
    if dice < 1 / 10:
        del node[key]
    elif dice < 2 / 10 and isinstance(node, dict):
        node[chance.choice(_TEXTS)[:50] or "unknown"] = chance.choice(_SCALARS)
    elif dice < 3 / 10 and isinstance(node, list):
        node.append(node[key])
    elif dice < 6 / 10:
        node[key] = chance.choice(_TEXTS)
    else:
        node[key] = copy.deepcopy(chance.choice(_SCALARS))


def _form(
    chance: random.Random, known: Mapping[str, tuple[str, ...]], tokens: tuple[str, ...]
) -> bytes:
    pairs: list[tuple[str, str]] = []
    if chance.random() < 3 / 4:
        pairs += [(name, chance.choice(values)) for name, values in known.items()]
    for _ in range(chance.randint(0, 4)):
        name = chance.choice(_PARAMETERS)
        value = chance.choice((chance.choice(_TEXTS), _token(chance, tokens)))
        pairs.append((name, value))
    chance.shuffle(pairs)
    return "&".join(
        f"{_quoted(chance, name)}={_quoted(chance, value)}" for name, value in pairs
    ).encode()


def _quoted(chance: random.Random, text: str) -> str:
    """Return the text percent-encoded, now and then with a byte that is no UTF-8."""
    encoded = "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
    return encoded + chance.choice(("",) * 12 + ("%FF", "%ED%A0%80", "%", "%zz"))


def _json(chance: random.Random) -> bytes:
    return chance.choice(
        (
            *(b"{}", b"[]", b"null", b"{", b"\xff", b"\xef\xbb\xbf{}", b"[" * 500, b"1e400"),
            *(b'{"clientId":null}', b'{"clientId":"x","clientId":"y"}', b'{"a":' * 100 + b"1"),
            *(b'{"client_name":"x","redirect_uris":[null]}', b'{"clientId":"\\ud800"}'),
        )
    )


def _authorization(chance: random.Random, tokens: tuple[str, ...]) -> str:
    return chance.choice(
        (
            *("Basic", "Basic =", "Basic !!!", "Basic Og==", "Basic YTpi", "Bearer", "Digest x=y"),
            *("Basic " + "QUFB" * 1000, f"Bearer {_token(chance, tokens)}", "bearer a.b.c"),
        )
    ).strip()  # of a token without a letter the scheme is left: clients send no blank at the end


def _header_text(chance: random.Random) -> str:
    text = chance.choice(_TEXTS).encode("ascii", "ignore").decode()
    return "".join(letter for letter in text if letter.isprintable())[:2000].strip()


def _token(chance: random.Random, tokens: tuple[str, ...]) -> str:
    """Return a genuine token, or one of which a piece was changed, cut or doubled."""
    token = chance.choice(tokens)
    place = chance.randrange(len(token))
    return chance.choice(
        (token, token[:place], token[:place] + "A" + token[place + 1 :], token + ".x", "a.b.c")
    )
