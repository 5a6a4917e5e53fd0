"""Realms: Keycloak's flat JSON, or the specification's snake_case, to a `Realm` and back.

What `write_realm` gives is read back to an equal realm, and put back to a realm changes nothing.
Keycloak: RealmRepresentation, PUT of a realm (absent and null fields stay, maps are replaced)
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson

from gateway.domain.errors import FieldError
from gateway.domain.realm import MASTER, Realm, TokenLifespans
from gateway.representations.plain_json import check_json, check_text
from gateway.representations.realm_attributes import with_mirrored, with_written
from gateway.representations.realm_fields import (
    COMPUTED,
    IMPORTED,
    NOT_IMPORTED,
    REALM_FIELDS,
    Kept,
    Setting,
)
from gateway.representations.refusals import attempt, raise_all, refused
from gateway.representations.smtp import keep_password, write_unmasked
from gateway.representations.spelling import Names

_SETTINGS = {entry.name: entry for entry in REALM_FIELDS if isinstance(entry, Setting)}
_KEPT = {entry.name: entry for entry in REALM_FIELDS if isinstance(entry, Kept)}
_BESIDE = COMPUTED | IMPORTED | NOT_IMPORTED
_NAMES = Names([*_SETTINGS, *_KEPT, *_BESIDE])
_MASTER_ACCESS_TOKEN = timedelta(seconds=60)

Given = Mapping[str, tuple[str, Any]]


def read_realm(document: Mapping[str, Any], *, base: Realm | None = None, path: str = "") -> Realm:
    """Return the realm that `document` describes.

    Without `base`, what is absent or null takes the creation default. With `base`, it stays as
    it is there, the id always. Unknown settings are kept. `users`, `clients`, `roles` and the
    like are left to the import. Raises InvalidInput with every wrong field.
    """
    if not isinstance(document, Mapping):
        raise refused(path or "realm", document, "an object")
    errors: list[FieldError] = []
    given = _NAMES.collect(document, path, errors)
    before = base or _created(given, path, errors)
    given = with_mirrored(given, _answer(before))
    updates = _read_settings(given, errors)
    unmodelled = _read_unmodelled(given, before, errors)
    raise_all(errors)
    realm = _updated(before, updates)
    return replace(
        with_written(realm, _answer(realm)),
        id=before.id,
        unmodelled=unmodelled,
        smtp=keep_password(realm.smtp, before.smtp),
    )


def write_realm(realm: Realm, *, masked: bool = True) -> dict[str, Any]:
    """Return the JSON object of `realm`, keys in Keycloak's order, unknown ones last.

    Masked, the only secret (`smtpServer.password`) is written as `**********`: this is also the
    form to store, with the password sealed beside it and given back on reading by
    `replace(realm, smtp=realm.smtp.with_password(secret))`.
    """
    answer = _answer(realm)
    if not masked:
        answer["smtpServer"] = write_unmasked(realm.smtp)
    return answer


def dump_realm(realm: Realm, *, masked: bool = True) -> bytes:
    """Return the JSON text of `realm`: equal realms give equal bytes."""
    written = write_realm(realm, masked=masked)
    return orjson.dumps(written, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def resources_not_imported(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the non-empty parts of a realm file that this version does not read."""
    given = _NAMES.collect(document, "", [])
    return tuple(name for name in sorted(NOT_IMPORTED) if given.get(name, ("", None))[1])


def _created(given: Given, path: str, errors: list[FieldError]) -> Realm:
    _, name = given.get("realm", ("", None))
    if name is None:
        errors.append(FieldError(f"{path}.realm" if path else "realm", "nothing", "a realm name"))
    _, identity = given.get("id", ("", name))
    lifespans = TokenLifespans()
    if name == MASTER:
        lifespans = TokenLifespans(access_token=_MASTER_ACCESS_TOKEN)
    return Realm(id=identity, name=name, token_lifespans=lifespans)


def _read_settings(given: Given, errors: list[FieldError]) -> dict[str, Any]:
    return {
        name: attempt(errors, None, _SETTINGS[name].shape.read, value, at)
        for name, (at, value) in given.items()
        if name in _SETTINGS
    }


def _read_unmodelled(given: Given, before: Realm, errors: list[FieldError]) -> dict[str, Any]:
    """Return what has no rule, without what stands at its default."""
    values = dict(before.unmodelled)
    for name, (at, value) in given.items():
        if name in _KEPT:
            values[name] = attempt(errors, None, _KEPT[name].shape.read, value, at)
        elif name not in _SETTINGS and name not in _BESIDE:
            attempt(errors, None, _check_unknown, name, value, at)
            values[name] = value
    return {
        name: value
        for name, value in values.items()
        if name not in _KEPT or value != _KEPT[name].default
    }


def _check_unknown(name: str, value: Any, at: str) -> None:
    check_text(name, at)
    check_json(value, at)


def _updated(before: Realm, updates: Mapping[str, Any]) -> Realm:
    own: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for name, value in updates.items():
        setting = _SETTINGS[name]
        target = own if setting.group is None else groups.setdefault(setting.group, {})
        target[setting.attribute] = value
    for group, values in groups.items():
        own[group] = replace(getattr(before, group), **values)
    return replace(before, **own)


def _answer(realm: Realm) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for entry in REALM_FIELDS:
        value = _kept(entry, realm) if isinstance(entry, Kept) else _setting(entry, realm)
        if value is not None:
            answer[entry.name] = value
    unknown = {name: value for name, value in realm.unmodelled.items() if name not in _KEPT}
    return {**answer, **unknown}


def _kept(entry: Kept, realm: Realm) -> Any:
    return realm.unmodelled.get(entry.name, entry.default)


def _setting(entry: Setting, realm: Realm) -> Any:
    group = realm if entry.group is None else getattr(realm, entry.group)
    value = getattr(group, entry.attribute)
    return None if entry.hidden(value) else entry.shape.write(value)
