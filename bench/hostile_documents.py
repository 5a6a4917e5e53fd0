"""Worst-case bodies of the largest accepted size, for every endpoint that takes one."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final
from urllib.parse import urlencode

_LARGEST_FORM: Final = 60 * 1024
_LARGEST_REGISTRATION: Final = 60 * 1024
_DEEPEST: Final = 30
_SAMPLE: Final = 1_000
_MOST_ITEMS: Final = 10_000_000
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_BOUNDARY: Final = "hostile"
_NAMES: Final = ("realm", "name", "username", "clientId", "alias", "id")
_PROTOCOL: Final = ("token", "token/introspect", "revoke", "userinfo", "logout")
_REGISTRATIONS: Final = ("default", "openid-connect", "install", "saml2-entity-descriptor")
_COSTLY_PATTERN: Final = "(.)*(.)*b"


@dataclass(frozen=True, slots=True)
class Document:
    """One request with a hostile body."""

    name: str
    method: str
    path: str
    content_type: str
    body: bytes = field(repr=False)


def documents(realm: str, largest: int) -> Iterator[Document]:
    """Yield all of them, of at most `largest` bytes; what they change belongs to `realm`."""
    yield from _of_the_admin_api(realm, largest)
    yield from _of_the_protocol(realm)
    for provider in _REGISTRATIONS:
        path = f"/realms/{realm}/clients-registrations/{provider}"
        for kind, body in _object_bodies(_LARGEST_REGISTRATION, ""):
            yield Document(f"{kind} to POST {path}", "POST", path, _JSON, body)


def _of_the_admin_api(realm: str, largest: int) -> Iterator[Document]:
    # The product's own table, imported here: the rest of the bench is a stranger to it.
    from gateway.http.admin.operations import Media  # noqa: PLC0415
    from scripts.admin_operations import read_operations  # noqa: PLC0415

    for row in read_operations():
        if row.body is None:
            continue
        path = "/".join(_filled(part, realm) for part in row.path.split("/"))
        content_type, size = _JSON, min(largest, row.body.largest)
        match row.body.media:
            case Media.LIST:
                bodies = _lists(size)
            case Media.TEXT:
                bodies = iter([("text", b"x" * (size - 1))])
                content_type = "text/plain"
            case Media.FORM:
                bodies = iter([("file", _file(size))])
                content_type = f"multipart/form-data; boundary={_BOUNDARY}"
            case _:
                bodies = iter(_object_bodies(size, row.body.schema))
        for kind, body in bodies:
            name = f"{kind} to {row.method} {row.path}"
            yield Document(name, row.method, path, content_type, body)


def _filled(part: str, realm: str) -> str:
    if not part.startswith("{"):
        return part
    return realm if part.startswith("{realm") else "hostile"


def _of_the_protocol(realm: str) -> Iterator[Document]:
    long, number = "x" * 16_000, 99
    client = {"client_id": "admin-cli", "grant_type": "password", "username": "nobody"}
    forms: dict[str, dict[str, str]] = {
        "many fields": {f"f{index}": "x" * 500 for index in range(number)},
        "scopes": {**client, "scope": "email profile " * 1_100, "password": long},
        "escapes": {"token": "%" * 5_000, "username": "\u0000\ufffd" * 1_500, **client},
        "tokens": dict.fromkeys(("token", "refresh_token", "access_token"), f"{long[:15_000]}.a.b"),
        "claims": {"token": _token(), "refresh_token": _token()},
    }
    for endpoint in _PROTOCOL:
        path = f"/realms/{realm}/protocol/openid-connect/{endpoint}"
        for kind, form in forms.items():
            body = urlencode(form).encode()[:_LARGEST_FORM]
            yield Document(f"{kind} to POST {endpoint}", "POST", path, _FORM, body)


def _token() -> str:
    """Return what looks like a signed token with a large header and many claims."""
    from base64 import urlsafe_b64encode  # noqa: PLC0415

    header = json.dumps({"alg": "RS256", "kid": "k" * 3_000}).encode()
    claims = json.dumps({f"c{number}": number for number in range(600)}).encode()
    parts = (urlsafe_b64encode(part).rstrip(b"=").decode() for part in (header, claims, b"s" * 256))
    return ".".join(parts)


@cache
def _object_bodies(largest: int, schema: str) -> tuple[tuple[str, bytes], ...]:
    """Return the bodies of objects, made once for all endpoints that take the same."""
    return tuple(_objects(largest, schema))


def _objects(largest: int, schema: str) -> Iterator[tuple[str, bytes]]:
    named: dict[str, Any] = dict.fromkeys(_NAMES, "hostile")
    yield "many members", _grown(largest, lambda count: {f"m{n}": n for n in range(count)})
    yield (
        "many attributes",
        _grown(
            largest,
            lambda count: {**_known(schema), "attributes": {f"a{n}": ["x"] for n in range(count)}},
        ),
    )
    yield (
        "a long text",
        json.dumps({**_known(schema), "description": "x" * (largest - 500)}).encode(),
    )
    yield "many numbers", _grown(largest, lambda count: {"name": list(range(count))})
    yield (
        "nested lists",
        _grown(
            largest, lambda count: {**_known(schema), "attributes": [[{"a": [1]}] * 99] * count}
        ),
    )
    yield "deep", json.dumps({**named, "config": _deep()}).encode()
    for kind, make in _OF_SCHEMA.get(schema, {}).items():
        yield kind, _grown(largest, make)


def _known(schema: str) -> dict[str, Any]:
    """Return the name of what is made, by which the document is not refused at once."""
    key = {
        "RealmRepresentation": "realm",
        "UserRepresentation": "username",
        "ClientRepresentation": "clientId",
    }.get(schema, "name")
    return {key: "hostile"}


def _lists(largest: int) -> Iterator[tuple[str, bytes]]:
    yield (
        "many items",
        _grown(largest, lambda n: [{"name": f"r{i}", "id": f"{i}"} for i in range(n)]),
    )
    yield "many numbers", _grown(largest, lambda n: list(range(n)))
    yield "one item twice", _grown(largest, lambda n: [{"name": "r"}] * n)


def _deep() -> Any:
    value: Any = []
    for _ in range(_DEEPEST):
        value = [value]
    return value


def _file(largest: int) -> bytes:
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    tail = f"\r\n--{_BOUNDARY}--\r\n"
    return head.encode() + b"\x30" * (largest - len(head) - len(tail)) + tail.encode()


def _grown(largest: int, make: Callable[[int], Any]) -> bytes:
    """Return the document with about as many items as fit."""
    count, last = _SAMPLE, 0
    while True:
        body = json.dumps(make(count), separators=(",", ":")).encode()
        if 0.9 * largest < len(body) <= largest or count >= _MOST_ITEMS:
            return body
        if len(body) == last:  # there are no more
            return body
        last = len(body)
        count = min(_MOST_ITEMS, int(0.97 * count * largest / len(body)))


def _listed(count: int) -> range:
    """Count users or clients, of which one document may have so many."""
    return range(min(count, 100_000))


def _named(count: int) -> range:
    """Count roles or groups, of which one document may have so many."""
    return range(min(count, 10_000))


def _profile(count: int) -> dict[str, Any]:
    names = ("username", "email", *(f"a{number}" for number in range(min(count, 498))))
    pattern = {"pattern": {"pattern": _COSTLY_PATTERN}, "length": {"max": 5}, "email": {}}
    attributes = [{"name": name, "validations": pattern, "displayName": "x"} for name in names]
    return {"attributes": attributes}


_OF_SCHEMA: Final[dict[str, dict[str, Callable[[int], Any]]]] = {
    "RealmRepresentation": {
        "many users": lambda count: {
            "realm": "hostile-users",
            "users": [{"username": f"u{n}", "enabled": True} for n in _listed(count)],
        },
        "many users, one of them wrong,": lambda count: {
            "realm": "hostile-users",
            "users": [*({"username": f"u{n}", "groups": []} for n in _listed(count - 1)), {}],
        },
        "many roles": lambda count: {
            "realm": "hostile-roles",
            "roles": {"realm": [{"name": f"r{n}"} for n in _named(count)]},
        },
        "many groups": lambda count: {
            "realm": "hostile-groups",
            "groups": [{"name": f"g{n}"} for n in _named(count)],
        },
        "many clients": lambda count: {
            "realm": "hostile-clients",
            "clients": [{"clientId": f"c{n}"} for n in _listed(count)],
        },
    },
    "PartialImportRepresentation": {
        "many users": lambda count: {"users": [{"username": f"u{n}"} for n in _listed(count)]},
        "many clients": lambda count: {"clients": [{"clientId": f"c{n}"} for n in _listed(count)]},
    },
    "ClientRepresentation": {
        "many addresses": lambda count: {
            "clientId": "addresses",
            "redirectUris": [f"https://a{n}.example/*" for n in range(count)],
        },
        "many mappers": lambda count: {
            "clientId": "mappers",
            "protocolMappers": [
                {
                    "name": f"m{n}",
                    "protocol": "openid-connect",
                    "protocolMapper": "oidc-hardcoded-claim-mapper",
                    "config": {"claim.name": "a.b", "claim.value": "x"},
                }
                for n in range(count)
            ],
        },
    },
    "UserRepresentation": {
        "many values": lambda count: {
            "username": "values",
            "attributes": {"a": ["x"] * count},
        },
        "many groups": lambda count: {"username": "grouped", "groups": ["/g"] * count},
    },
    "UPConfig": {"many patterns": _profile},
    "ComponentRepresentation": {
        "many settings": lambda count: {
            "name": "hostile",
            "providerId": "rsa",
            "providerType": "org.keycloak.keys.KeyProvider",
            "config": {f"s{n}": ["x"] for n in range(count)},
        },
    },
}
