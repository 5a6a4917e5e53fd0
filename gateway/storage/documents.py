"""Documents of our own in the database: JSON of frozen dataclasses, by the types of their fields.

A member has the name of its field; a field that is None by default is left out where it is None. A
duration is a number of seconds, a word of an enumeration its text. Every other field is written,
also at its default value: a later version may change a default, but no stored setting by that.

A document has the number of its form. Members that this version does not know come from a later
one during an upgrade: they are kept in the field LATER of the value and written back. Without such
a field they are refused. A value of another type is never repaired: the error names its member.
Decision: 0027
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Generic,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from gateway.domain.secrets import Secret

VERSION: Final = 1
"""The form of documents that migration 0023 writes."""
LATER: Final = "later"
_VERSION: Final = "version"
_SECOND: Final = timedelta(seconds=1)

ValueT = TypeVar("ValueT")
Convert = Callable[[Any], Any]


class UnreadableDocument(ValueError):
    """A stored document that this version cannot read; the text names the member."""

    def __init__(self, member: str, reason: str) -> None:
        super().__init__(f"{member}: {reason}" if member else reason)
        self.member, self.reason = member, reason

    def inside(self, name: str) -> "UnreadableDocument":
        """Return the same error for the object or list `name` around the member."""
        follows = not self.member or self.member.startswith("[") or name.endswith(" ")
        return UnreadableDocument(f"{name}{'' if follows else '.'}{self.member}", self.reason)


class DocumentCodec(Generic[ValueT]):
    """Stored documents of a dataclass."""

    def __init__(self, value: type[ValueT], beside: Collection[str] = ()) -> None:
        """Take the dataclass, and its fields that columns hold or that other fields define."""
        self._value = value
        self._group = _Group(value, beside)
        self._keeps_later = LATER in get_type_hints(value)

    def encode(self, value: ValueT) -> dict[str, Any]:
        """Return the document; raises TypeError for a secret, which is stored sealed."""
        document = {_VERSION: VERSION, **self._group.encode(value)}
        later: Mapping[str, Any] = getattr(value, LATER, {})
        return _merged(document, later) if later else document

    def decode(self, document: Any, **beside: Any) -> ValueT:
        """Return the value with the fields that are not stored; raises UnreadableDocument."""
        return _made(self._value, self.decode_members(document) | beside)

    def decode_members(self, document: Any) -> dict[str, Any]:
        """Return the values of the stored fields by name; raises UnreadableDocument."""
        version = _checked(dict, document).get(_VERSION)
        if version != VERSION:
            raise UnreadableDocument(_VERSION, f"{version!a} instead of {VERSION}")
        values, later = self._group.decode_members(document)
        del later[_VERSION]
        if later and not self._keeps_later:
            raise UnreadableDocument(next(iter(later)), "an unknown member")
        return values | {LATER: later} if later else values


def _merged(known: dict[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members with those of a later version, in groups too."""
    for name, value in later.items():
        own = known.get(name)
        known[name] = _merged(own, value) if isinstance(own, dict) else value
    return known


class _Group:
    """The members of a dataclass."""

    def __init__(self, value: type, beside: Collection[str] = ()) -> None:
        hints = get_type_hints(value)
        stored = [each for each in fields(value) if each.init and each.name not in {*beside, LATER}]
        self._value = value
        self._optional = {each.name for each in stored if each.default is None}
        self._shapes = {each.name: _shape_of(hints[each.name]) for each in stored}
        self._groups = {n: each for n, each in self._shapes.items() if isinstance(each, _Group)}

    def encode(self, value: Any) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for name, shape in self._shapes.items():
            each = getattr(value, name)
            if each is not None:
                written[name] = each if shape.encode is _same else shape.encode(each)
            elif name not in self._optional:
                written[name] = None
        return written

    def decode(self, document: Any) -> Any:
        """Return the value of a list or map, which keeps nothing of a later version."""
        values, later = self.decode_members(document)
        if later:
            raise UnreadableDocument(next(iter(later)), "an unknown member")
        return _made(self._value, values)

    def decode_members(self, document: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values by name, and the members of a later version."""
        values: dict[str, Any] = {}
        later: dict[str, Any] = {}
        name = ""
        try:
            for name, item in _checked(dict, document).items():
                shape = self._shapes.get(name)
                if shape is None:
                    later[name] = item
                elif name in self._groups:
                    values[name], of_group = self._groups[name].decode_partly(item)
                    later |= {name: of_group} if of_group else {}
                else:
                    values[name] = shape.decode(item)
        except UnreadableDocument as error:
            raise error.inside(name) from None
        return values, later

    def decode_partly(self, document: Any) -> tuple[Any, dict[str, Any]]:
        """Return the value, and the members of a later version."""
        values, later = self.decode_members(document)
        return _made(self._value, values), later


@dataclass(frozen=True, slots=True)
class _Shape:
    """How values of a type become JSON and come back."""

    encode: Convert
    decode: Convert


def _shape_of(kind: Any) -> "_Shape | _Group":
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return _optional([each for each in inner if each is not NoneType])
    if origin is tuple and inner[-1] is not ...:
        return _fixed([_shape_of(each) for each in inner])
    if origin in {tuple, frozenset}:
        return _listed(_shape_of(inner[0]), origin)
    if origin is not None:
        return _mapped(_shape_of(inner[1]))
    if kind in _PLAIN:
        return _PLAIN[kind]
    return _Group(kind) if isinstance(kind, type) and is_dataclass(kind) else _words([kind])


def _optional(kinds: list[Any]) -> _Shape:
    """Return the shape of `X | None`; several kinds are enumerations."""
    shape = _shape_of(kinds[0]) if len(kinds) == 1 else _words(kinds)
    return _Shape(shape.encode, lambda value: None if value is None else shape.decode(value))


def _words(kinds: list[type[StrEnum]]) -> _Shape:
    known = {str(each): each for kind in kinds for each in kind}

    def decode(value: Any) -> StrEnum:
        found = known.get(value) if isinstance(value, str) else None
        if found is None:
            raise UnreadableDocument("", f"{value!a} instead of one of {', '.join(known)}")
        return found

    return _Shape(str, decode)


def _fixed(shapes: Sequence[_Shape | _Group]) -> _Shape:
    def decode(value: Any) -> tuple[Any, ...]:
        if len(_checked(list, value)) != len(shapes):
            raise UnreadableDocument("", f"{len(value)} items instead of {len(shapes)}")
        return tuple(shape.decode(item) for shape, item in zip(shapes, value, strict=True))

    if any(shape.encode is not _same for shape in shapes):
        raise TypeError("a tuple of fixed length has plain items")
    return _Shape(list, decode)


def _listed(shape: _Shape | _Group, collect: type) -> _Shape:
    def encode(value: Collection[Any]) -> list[Any]:
        items = value if shape.encode is _same else map(shape.encode, value)
        return list(items) if collect is tuple else sorted(items)

    def decode(value: Any) -> Any:
        items = enumerate(_checked(list, value))
        return collect([_at(f"[{place}]", shape.decode, item) for place, item in items])

    return _Shape(encode, decode)


def _mapped(shape: _Shape | _Group) -> _Shape:
    return _Shape(
        dict
        if shape.encode is _same
        else lambda value: {name: shape.encode(item) for name, item in value.items()},
        lambda value: {
            name: _at(name, shape.decode, item) for name, item in _checked(dict, value).items()
        },
    )


def _at(name: str, convert: Convert, item: Any) -> Any:
    try:
        return convert(item)
    except UnreadableDocument as error:
        raise error.inside(name) from None


def _made(value: type[ValueT], values: Mapping[str, Any]) -> ValueT:
    try:
        return value(**values)
    except (TypeError, ValueError) as error:  # a required field, or a check of the value itself
        raise UnreadableDocument("", str(error)) from None


def _checked(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        given, allowed = _JSON_TYPES.get(type(value), "null"), _JSON_TYPES[kind]
        raise UnreadableDocument("", f"{given} instead of {allowed}")
    return value


def _same(value: Any) -> Any:
    return value


def _seconds(value: timedelta) -> int | float:
    return value.total_seconds() if value % _SECOND else value // _SECOND


def _duration(value: Any) -> timedelta:
    return timedelta(seconds=value if type(value) is float else _checked(int, value))


def _refuse_secret(_: Any) -> NoReturn:
    raise TypeError("a secret is stored sealed, in a column of its own")


_JSON_TYPES: Final = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_PLAIN: Final[Mapping[Any, _Shape]] = {
    Any: _Shape(_same, _same),
    **{kind: _Shape(_same, partial(_checked, kind)) for kind in (str, int, bool)},
    timedelta: _Shape(_seconds, _duration),
    # An earlier version stored one as it is.
    Secret: _Shape(_refuse_secret, lambda text: Secret(_checked(str, text))),
}
