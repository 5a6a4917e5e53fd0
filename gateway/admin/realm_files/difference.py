"""The differences between two states of one realm, field by field, each resource by its name.

Secrets are compared and never shown.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any, Final

import orjson

from gateway.domain.groups import render_group_path
from gateway.domain.realm import WEBHOOK_SECRET
from gateway.representations.clients import replace_secrets
from gateway.representations.realms import SECRETS as SMTP_SECRETS

_CLIENT, _ROLE, _GROUP, _SCOPE = "client", "role", "group", "client scope"
_RESOURCES: Final = frozenset({"clients", "roles", "groups", "clientScopes"})
_NAMES: Final = ("name", "alias")
"""Fields that identify the objects of a list."""


class Sign(StrEnum):
    """The kind of a difference."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@dataclass(frozen=True, slots=True)
class Difference:
    """One added or removed resource, or one changed field; `what` is empty for the realm itself."""

    sign: Sign
    what: str
    field: str = ""
    before: Any = None
    after: Any = None

    @property
    def is_secret(self) -> bool:
        """Tell whether the values are hidden."""
        return isinstance(self.before, Hidden) or isinstance(self.after, Hidden)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A secret, comparable and not readable."""

    digest: bytes

    def __repr__(self) -> str:
        return "a hidden value"


def hidden(document: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """Return the document with a digest, keyed with `key`, in place of each secret."""

    def hide(holder: Mapping[str, Any], name: str) -> dict[str, Any]:
        if holder.get(name) is None:
            return dict(holder)
        digest = hmac.digest(key, orjson.dumps(holder[name]), hashlib.sha256)
        return {**holder, name: Hidden(digest)}

    return {
        **document,
        "attributes": hide(document.get("attributes", {}), WEBHOOK_SECRET),
        "smtpServer": reduce(hide, SMTP_SECRETS, document.get("smtpServer", {})),
        "clients": [replace_secrets(client, hide) for client in document.get("clients", ())],
    }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences: settings first, then resources by kind and name."""
    yield from _fields("", _settings(before), _settings(after))
    old, new = _resources(before), _resources(after)
    for what in [*old, *(what for what in new if what not in old)]:
        if what not in new:
            yield Difference(Sign.REMOVED, what)
        elif what not in old:
            yield Difference(Sign.ADDED, what)
        else:
            yield from _fields(what, old[what], new[what])


def _settings(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in _RESOURCES}


def _resources(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    roles = document.get("roles", {})
    found = {f"{_CLIENT} {client['clientId']}": client for client in document.get("clients", ())}
    found |= {f"{_ROLE} {role['name']}": role for role in roles.get("realm", ())}
    for client, of_client in roles.get("client", {}).items():
        found |= {f"{_ROLE} {client}/{role['name']}": role for role in of_client}
    found |= {f"{_GROUP} {path}": group for path, group in _flat(document.get("groups", ()), ())}
    found |= {f"{_SCOPE} {scope['name']}": scope for scope in document.get("clientScopes", ())}
    return found


def _flat(groups: Any, above: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all groups of the tree, each with its path."""
    for group in groups:
        names = (*above, group["name"])
        own = {name: value for name, value in group.items() if name != "subGroups"}
        yield render_group_path(names), own
        yield from _flat(group.get("subGroups", ()), names)


def _fields(
    what: str, before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Iterator[Difference]:
    for name in [*before, *(name for name in after if name not in before)]:
        yield from _field(what, before.get(name), after.get(name), f"{path}{name}")


def _field(what: str, before: Any, after: Any, path: str) -> Iterator[Difference]:
    if before == after:
        return
    parts = [_by_name(value) for value in (before, after)]
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _fields(what, before, after, f"{path}.")
    elif parts[0] is not None and parts[1] is not None and any(parts):
        yield from _fields(what, parts[0], parts[1], f"{path}.")
    else:
        yield Difference(Sign.CHANGED, what, path, before, after)


def _by_name(value: Any) -> dict[str, Any] | None:
    """Return the objects of a list by name, if names are unique."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    for key in _NAMES:
        names = [item.get(key) for item in value]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
    return None
