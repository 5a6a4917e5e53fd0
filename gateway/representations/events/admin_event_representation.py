"""What an admin event keeps of the document that was sent: listed fields, by kind of resource.

A field that is not listed is left out, whatever it is called; of free maps (attributes, config)
every name is kept and only listed ones with their value. A listed value is kept as it is if it is
plain, which no PEM, token or address with a password is.

Keycloak: 10.4, which masks what it knows as a secret and records the rest, private keys among it
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.events import ResourceType
from gateway.domain.secrets import looks_secret
from gateway.representations.events.recorded_fields import FIELDS, Fields, Lists, Named, Node
from gateway.representations.masking import MASK

LARGEST: Final = 64 * 1024
"""Characters of one representation."""

_NOTHING: Final = object()
_LONGEST_NAME: Final = 255
_UNFIT: Final = re.compile("[\0\ud800-\udfff]")
"""What not every store can hold."""


def recorded(resource: ResourceType, document: object) -> str:
    """Return what is kept of `document`, as JSON text."""
    kept = _of(FIELDS.get(resource, Fields()), document)
    text = _json({} if kept is _NOTHING else kept)
    if len(text) > LARGEST:
        return _json({"omitted": f"a representation of more than {LARGEST} characters"})
    return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _of(node: Node, value: object) -> Any:
    """Return what `node` keeps of a value, of a list what it keeps of each item."""
    if isinstance(value, list):
        kept = (_of(node, item) for item in value)
        return [item for item in kept if item is not _NOTHING]
    if not isinstance(value, Mapping):
        return _NOTHING
    members = ((name, _member(node, name, item)) for name, item in value.items() if _fits(name))
    return {name: item for name, item in members if item is not _NOTHING}


def _member(node: Node, name: str, value: object) -> Any:
    match node:
        case Fields() if name in node.inner:
            return _of(node.inner[name], value)
        case Fields():
            return _plain(value) if name in node.shown else _masked(node, name, value)
        case Named():
            return _plain(value) if name in node.shown else MASK
        case Lists():
            return _plain(value) if isinstance(value, list) else _NOTHING


def _masked(node: Fields, name: str, value: object) -> Any:
    return MASK if name in node.masked and value is not None else _NOTHING


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return value if _is_plain(value) else MASK
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value if not isinstance(item, list | Mapping)]
    return _NOTHING


def _fits(name: object) -> bool:
    return isinstance(name, str) and len(name) <= _LONGEST_NAME and _is_plain(name)


def _is_plain(text: str) -> bool:
    return not looks_secret(text) and _UNFIT.search(text) is None
