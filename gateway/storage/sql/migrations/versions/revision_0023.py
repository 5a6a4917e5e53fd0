"""Realms, clients, client scopes and sites as documents of our own, in place of Keycloak's JSON.

The columns of realms, clients and scopes get another name: a gateway of the version before answers
503 from then on, and neither misreads a document nor stores one in the form that is gone. This file
names all that it reads and writes, because the program's own tables change.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

from gateway.domain.errors import FieldError, InvalidInput

revision = "0023"
down_revision = "0022"

_BATCH: Final = 500
_DIGITS: Final = re.compile("-?[0-9]{1,18}")
_FLAGS: Final = {"true": True, "false": False}
_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_ROTATED: Final = "client.secret.rotated"
_NO_ATTRIBUTES: Final = (".private.key", ".secret.rotated", "realmgate.administrative.roles")
_REPEATED_AS: Final = {"otpPolicyCodeReusable": "realmReusableOtpCode"}


class _Unreadable(Exception):
    """A member that the version before could not read either."""

    def __init__(self, member: str, allowed: str) -> None:
        super().__init__(member)
        self.member, self.allowed = member, allowed


def upgrade() -> None:
    """Write all documents again, in batches; raises InvalidInput with all unreadable members."""
    for name in ("realms", "clients", "client_scopes"):
        op.execute(sa.text(f"ALTER TABLE {name} RENAME COLUMN document TO settings"))
    errors = [error for table in _TABLES for error in _rewrite(op.get_bind(), *table)]
    if errors:
        raise InvalidInput(tuple(errors))


def _rewrite(
    connection: sa.Connection, kind: str, name: str, columns: tuple[str, str, str], convert: Any
) -> Iterator[FieldError]:
    """Convert the documents of a table, whose key, name and document are in `columns`."""
    key, column = columns[0], columns[-1]
    realms = sa.table("realms", sa.column("id"), sa.column("name"))
    table = sa.table(name, *(sa.column(each) for each in dict.fromkeys(("realm_id", *columns))))
    parts = [table.c[each] for each in columns]
    changed = sa.update(table).where(table.c[key] == sa.bindparam("row"))
    if name == realms.name:
        owner: sa.ColumnElement[Any] = sa.literal("")
        chosen = sa.select(owner, *parts, sa.literal(""))
    else:
        owner = table.c.realm_id
        chosen = sa.select(owner, *parts, realms.c.name).join(realms, realms.c.id == owner)
        changed = changed.where(owner == sa.bindparam("owner"))
    changed = changed.values({column: sa.bindparam("text")})
    place, last = sa.tuple_(owner, table.c[key]), ("", "")
    while True:
        page = chosen.where(place > last).order_by(owner, table.c[key]).limit(_BATCH)
        rows: Sequence[Any] = connection.execute(page).all()
        if not rows:
            return
        written = []
        for realm_id, row, named, text, realm in rows:
            where = f"{kind} {named} of realm {realm}" if realm else f"{kind} {named}"
            try:
                document = {"version": 1, **convert(_read(text), named)}
            except _Unreadable as error:
                given = "something else"
                yield FieldError(f"{where}: {error.member}", given, error.allowed)
                continue
            own = json.dumps(document, separators=(",", ":"))
            written.append({"owner": realm_id, "row": row, "text": own})
        if written:
            connection.execute(changed, written)
        last = (rows[-1][0], rows[-1][1])


def _read(text: str) -> Any:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise _Unreadable("the document", "a JSON object")
    return document


def _realm(document: dict[str, Any], name: str) -> dict[str, Any]:
    document = _with_mirrored(document)
    if name == "master":
        document.setdefault("accessTokenLifespan", 60)
    own, others = _placed("realm", document)
    if own.get("default_role") == f"default-roles-{name.lower()}":
        del own["default_role"]
    kept = _without("realm", others)
    return {**own, "unmodelled": kept}


def _with_mirrored(document: dict[str, Any]) -> dict[str, Any]:
    """Return a realm whose members and attributes of one setting are equal, as it was read."""
    attributes = document.get("attributes")
    if not isinstance(attributes, dict):
        return dict(document)
    members, attributes = dict(document), dict(attributes)
    for member, default in _TABLE["mirrored"].items():
        name = _REPEATED_AS.get(member, member)
        text = attributes.get(name)
        if text is None:
            continue
        if _text(default) != _text(text) and members.get(member, default) == default:
            members[member] = int(text) if _DIGITS.fullmatch(str(text)) else text
        attributes[name] = _text(members.get(member, default))
    return {**members, "attributes": attributes}


def _client(document: dict[str, Any], _: str) -> dict[str, Any]:
    own, others = _placed("client", document)
    attributes = own.get("attributes", {})
    rotated = {"rotated_secret": attributes[_ROTATED]} if _ROTATED in attributes else {}
    own["attributes"] = {
        n: v for n, v in attributes.items() if not n.lower().endswith(_NO_ATTRIBUTES)
    }
    return {**own, "document": _without("client", others), **rotated}


def _scope(document: dict[str, Any], _: str) -> dict[str, Any]:
    return _placed("client_scope", document)[0]


def _site(document: dict[str, Any], _: str) -> dict[str, Any]:
    """Return a site; what a later version has stored stays, so that it stays unreadable."""
    rules = document.get("rules", [])
    own = {_snake(name): each for name, each in document.items() if name != "name"}
    return {**own, "rules": [_rule(each) for each in rules] if isinstance(rules, list) else rules}


def _rule(rule: Any) -> Any:
    if not isinstance(rule, dict):
        return rule
    members = {_snake(name): each for name, each in rule.items()}
    needed = {name: members.pop(name) for name in _REQUIREMENTS if name in members}
    paths = members.get("paths")
    if isinstance(paths, list):
        members["paths"] = [{"text": path} for path in paths]
    return {**members, "requirements": needed} if needed else members


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda capital: f"_{capital.group().lower()}", name)


def _placed(table: str, document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the members that have a place, in their groups, and the others."""
    own: dict[str, Any] = {}
    others = {name: value for name, value in document.items() if value is not None}
    places = ((kind, *pair) for kind, pairs in _TABLE[table].items() for pair in pairs.items())
    for kind, member, place in places:
        value = others.pop(member, None)
        is_default = value == "" and kind not in {"text", "policy"} and not kind.endswith("|")
        if value is None or is_default:
            continue
        converted = _CONVERTED[kind](value) if kind in _CONVERTED else _word(kind, value)
        if converted is _BAD:
            raise _Unreadable(member, kind)
        group, _, field = place.rpartition(".")
        if converted is not _DEFAULT:
            (own.setdefault(group, {}) if group else own)[field] = converted
    return own, others


def _without(table: str, members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members without those of columns, and without those at their defaults."""
    dropped, defaults = _TABLE["dropped"][table], _TABLE["left_out"][table]
    return {
        name: value
        for name, value in members.items()
        if name not in dropped and not (name in defaults and value == defaults[name])
    }


_BAD: Final = object()
_DEFAULT: Final = object()


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


def _as_text(value: Any) -> Any:
    text = _text(value)
    return text if isinstance(text, str) else _BAD


def _flag(value: Any) -> Any:
    flag = _FLAGS.get(value) if isinstance(value, str) else value
    return bool(flag) if isinstance(flag, int) else _BAD


def _number(value: Any) -> Any:
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    return number if isinstance(number, int) and not isinstance(number, bool) else _BAD


def _number_or_default(value: Any) -> Any:
    return _number(value) or _DEFAULT


def _milliseconds(value: Any) -> Any:
    number = _number(value)
    if number is _BAD:
        return _BAD
    return number / 1000 if number % 1000 else number // 1000


def _texts(value: Any) -> Any:
    texts = [_as_text(item) for item in value] if isinstance(value, list) else [_BAD]
    return _BAD if _BAD in texts else texts


def _map(value: Any) -> Any:
    if not isinstance(value, dict):
        return _BAD
    texts = {name: _as_text(item) for name, item in value.items() if item is not None}
    return _BAD if _BAD in texts.values() else texts


def _policy(value: Any) -> Any:
    """Return the rules of `name(argument) and name`."""
    if not isinstance(value, str):
        return _BAD
    rules = []
    for text in filter(None, map(str.strip, value.split(" and "))):
        name, bracket, rest = text.partition("(")
        argument = rest[:-1].strip() if bracket else ""
        rules.append({"name": name.strip()} | ({"argument": argument} if argument else {}))
    return {"rules": rules}


def _headers(value: Any) -> Any:
    texts = _map(value)
    return _BAD if texts is _BAD else {"values": [list(pair) for pair in texts.items()]}


def _smtp(value: Any) -> Any:
    texts = _map(value)
    if texts is _BAD:
        return _BAD
    secrets = {
        "password": texts.pop("password", ""),
        "token_secret": texts.pop("authTokenClientSecret", ""),
    }
    return {"settings": texts, **{name: text for name, text in secrets.items() if text}}


def _role(value: Any) -> Any:
    if value == {}:
        return _DEFAULT
    return _as_text(value.get("name")) if isinstance(value, dict) else _BAD


def _mappers(value: Any) -> Any:
    names = ("id", "name", "protocol")
    try:
        return [
            {
                **{name: each[name] for name in names},
                "mapper_type": each["protocolMapper"],
                "config": each["config"],
            }
            for each in value
        ]
    except (KeyError, TypeError):
        return _BAD


def _word(words: str, value: Any) -> Any:
    """Return one of the words; the empty one, where it is among them, is null."""
    if value == "":
        return None
    text = value.lower() if isinstance(value, str) and words.startswith("none|") else value
    return text if text in words.split("|") else _BAD


_CONVERTED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "flag": _flag,
    "number": _number,
    "number, 0 for the default": _number_or_default,
    "milliseconds": _milliseconds,
    "text": _as_text,
    "texts": _texts,
    "map": _map,
    "policy": _policy,
    "headers": _headers,
    "smtp": _smtp,
    "role": _role,
    "mappers": _mappers,
}
_REQUIREMENTS: Final = (
    *("realm_roles", "client_roles", "scopes", "groups", "clients", "certificates"),
)
_TABLES: Final = (
    ("realm", "realms", ("id", "name", "settings"), _realm),
    ("client", "clients", ("id", "client_id", "settings"), _client),
    ("client scope", "client_scopes", ("id", "name", "settings"), _scope),
    ("site", "sites", ("name", "name", "document"), _site),
)
