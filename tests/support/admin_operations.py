"""The rows of the admin API's table, filled in so that they can be asked."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final
from urllib.parse import quote

import httpx2

from gateway.http.admin.operations import Body, Media, Operation
from scripts.admin_operations import read_operations
from tests.support.administration import Administration

PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_NAMED: Final[Mapping[str, object]] = {
    "CredentialRepresentation": {"type": "password", "value": "asked"},
    "GroupRepresentation": {"name": "asked"},
    "RoleRepresentation": {"name": "asked"},
}
_SENT: Final[Mapping[str, object]] = {
    "disable-credential-types": [],
    "execution": {"provider": "auth-cookie"},
    "flow": {"alias": "asked", "type": "basic-flow"},
    "nodes": {"node": "asked"},
}
"""The least that makes sense, by representation or by the last word of the URL.

So what is asked about is looked for at all.
"""


@cache
def operations() -> tuple[Operation, ...]:
    """Return every row."""
    return read_operations()


def title(operation: Operation) -> str:
    """Return how a test names a row."""
    return f"{operation.method} {operation.path.removeprefix('/admin/realms/{realm}') or '.'}"


def url_of(operation: Operation, value_of: Callable[[str], str]) -> str:
    """Return the URL, each placeholder replaced by its value."""
    return PLACEHOLDER.sub(lambda found: quote(value_of(found[1]), safe=""), operation.path)


def parameters(operation: Operation) -> tuple[str, ...]:
    """Return the names of the placeholders."""
    return tuple(PLACEHOLDER.findall(operation.path))


def send(
    administration: Administration, operation: Operation, url: str, token: str
) -> httpx2.Response:
    """Ask the operation at a URL, with the least that it takes as its body."""
    headers = {"Authorization": f"Bearer {token}"}
    content = _content(operation.body, operation.path.rpartition("/")[2])
    if content is not None:
        media = operation.body.media if operation.body is not None else Media.JSON
        headers["Content-Type"] = "text/plain" if media is Media.TEXT else "application/json"
    return administration.http.request(operation.method, url, headers=headers, content=content)


def _content(body: Body | None, word: str) -> bytes | None:
    if body is None:
        return None
    if word in _SENT:
        return json.dumps(_SENT[word]).encode()
    match body.media:
        case Media.LIST:
            return b"[]"
        case Media.TEXT:
            return b"asked"
        case Media.FORM:
            return b""
        case _:
            return json.dumps(_NAMED.get(body.schema, {})).encode()
