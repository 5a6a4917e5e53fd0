"""Errors of refused values: the path, the given value, the allowed values.

The given value is shortened and escaped, so that it fits a line of a terminal or a log.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeVar, cast

from gateway.domain.errors import FieldError, InvalidInput, RepeatedName

_SHOWN = 60
_CLOSE = 0.75
"""The similarity from 0 to 1 of a name that is suggested: one wrong letter of four."""
_MOST_UNKNOWN = 20
"""Unknown fields of one object that are reported: to find a close name takes a while."""

ReadT = TypeVar("ReadT")
OtherT = TypeVar("OtherT")
NameT = TypeVar("NameT", bound=Hashable)


def join(path: str, name: str) -> str:
    """Return the path of the field `name` inside `path`."""
    return f"{path}.{describe_name(name)}" if path else describe_name(name)


def describe_name(name: str) -> str:
    """Return `name` as it may stand in a path."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
    return shown if shown.isprintable() else json.dumps(shown)


def describe(value: Any) -> str:
    """Return a short printable account of a JSON value that is not secret."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{json.dumps(value[:_SHOWN])}... ({len(value)} characters)"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * _SHOWN:
        return f"a number of {value.bit_length()} bits"
    return json.dumps(value)


def refused(path: str, value: Any, allowed: str) -> InvalidInput:
    """Return the refusal of one field."""
    return InvalidInput((FieldError(path, describe(value), allowed),))


def mistyped(path: str, value: Any, allowed: str) -> InvalidInput:
    """Return the refusal of a field that is JSON of another type."""
    return InvalidInput((FieldError(path, describe(value), allowed, mistyped=True),))


def refused_text(path: str, value: Any, allowed: str) -> InvalidInput:
    """Return the refusal of a text, of its type where it is none."""
    refusal = refused if value is None or isinstance(value, str) else mistyped
    return refusal(path, value, allowed)


def refused_items(path: str, value: Any, kind: type, allowed: str) -> InvalidInput:
    """Return the refusal of a list or an object, of its type where it is not of that `kind`."""
    return (refused if isinstance(value, kind) else mistyped)(path, value, allowed)


def refused_secret(path: str, allowed: str) -> InvalidInput:
    """Return the refusal of a field whose value must not be shown."""
    return InvalidInput((FieldError(path, "a hidden value", allowed),))


class UnknownField(InvalidInput):
    """A field that Keycloak's representation of that name has not; only the admin API minds."""

    def __init__(
        self, path: str, name: str, representation: str, known: Iterable[str] = ()
    ) -> None:
        """Take the names of `known` fields, of which a close one is suggested."""
        sentence = f"{representation} has no such field{suggestion(name, known)}"
        error = FieldError(join(path, name), "an unknown field", "a known one", sentence=sentence)
        super().__init__((error,))
        self.name = describe_name(name)
        self.representation = representation


def unknown_fields(
    path: str, names: Iterable[str], representation: str, known: Collection[str]
) -> Iterator[FieldError]:
    """Yield an error for each name that is not known, for the first `_MOST_UNKNOWN` of them."""
    unknown = (name for name in names if name not in known)
    for name in islice(unknown, _MOST_UNKNOWN):
        yield from UnknownField(path, name, representation, known).errors


def require_known(
    document: Iterable[str], known: Container[str], representation: str, path: str = ""
) -> None:
    """Raise UnknownField for the first name of `document` that is not known."""
    for name in document:
        if name not in known:
            names = known if isinstance(known, Iterable) else ()
            raise UnknownField(path, name, representation, names)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question that names the known name closest to `name`, "" where none is close."""
    if len(name) > _SHOWN:
        return ""
    close = get_close_matches(name, known, n=1, cutoff=_CLOSE)
    return f"; did you mean {close[0]}?" if close else ""


def attempt(
    errors: list[FieldError], instead: OtherT, read: Callable[..., ReadT], *arguments: Any
) -> ReadT | OtherT:
    """Return what `read(*arguments)` gives, or note its refusals and return `instead`."""
    try:
        return read(*arguments)
    except InvalidInput as refusal:
        errors.extend(refusal.errors)
        return instead


def parse_each(
    items: Iterable[Any], read: Callable[..., ReadT], path: str, *arguments: Any
) -> list[ReadT]:
    """Return what `read(item, path, *arguments)` gives for each item of the list at `path`.

    Raises InvalidInput with the errors of all items.
    """
    errors: list[FieldError] = []
    found = [
        attempt(errors, None, read, item, f"{path}[{index}]", *arguments)
        for index, item in enumerate(items)
    ]
    raise_all(errors)
    return cast("list[ReadT]", found)


@contextmanager
def collect_refusals(errors: list[FieldError]) -> Iterator[None]:
    """Note the refusal of the body in `errors` and go on after it."""
    try:
        yield
    except InvalidInput as refusal:
        errors.extend(refusal.errors)


@contextmanager
def located(source: object) -> Iterator[None]:
    """Put the name of a file before the path of every refusal."""
    try:
        yield
    except InvalidInput as refusal:
        raise InvalidInput(
            tuple(replace(error, path=f"{source}: {error.path}") for error in refusal.errors)
        ) from refusal


def raise_all(errors: Iterable[FieldError]) -> None:
    """Raise InvalidInput when there are any errors."""
    noted = tuple(errors)
    if noted:
        raise InvalidInput(noted)


def repeated(names: Iterable[NameT]) -> list[NameT]:
    """Return what comes more than once, each once, in the order of its first coming.

    One pass, since a list may be as long as a body.
    """
    return [name for name, times in Counter(names).items() if times > 1]


def repeated_names(names: Iterable[str], path: str, allowed: str) -> Iterator[RepeatedName]:
    """Yield an error for each name that comes more than once, in the order of the names."""
    for name in sorted(repeated(names)):
        yield RepeatedName(path, f"{describe(name)} twice", allowed)
