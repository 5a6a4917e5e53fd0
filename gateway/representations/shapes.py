"""The shapes of single fields: what each accepts, its error text, how it is written back; names.

Like Keycloak's, they take "true" or 0 for a boolean, "300" or 3e2 for a number, and a number or a
boolean for a text; a blank text or "null" for a boolean or a number is null. The mask of a secret
keeps the old secret when it is sent back.

Names stand in URLs, keys and headers: realm names, ids, client ids, user names. Keycloak: the
reserved characters of realm names. Refused beyond it: `%`, the quotes, `.` and `..` alone, spaces
at the ends, and everything invisible, because they change their meaning on the way: a client that
tidies its URLs makes of /roles/.. its realm.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import isfinite
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar, cast

from gateway.domain.errors import FieldError
from gateway.representations.json_input import check_json, check_text
from gateway.representations.refusals import (
    attempt,
    join,
    mistyped,
    parse_each,
    raise_all,
    refused,
    refused_items,
    refused_text,
)

MASK: Final = "**********"


MAX_INTEGER = 2**31 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
MAX_MILLISECONDS = 32_503_680_000_000
"""Since 1970: the year 3000."""
_MAX_ENTRIES = 1000
_MAX_TEXT = 10_000
_DIGITS = re.compile("[+-]?[0-9]{1,18}")
_NO_VALUE: Final = frozenset({"", "null"})
"""Texts that stand for null, where a number or a boolean is expected."""
_SPELLED_FLAGS = {"true": True, "false": False}

ChoiceT = TypeVar("ChoiceT", bound=StrEnum)


class Shape(Protocol):
    """Reads a JSON value into a domain value and writes it back."""

    def read(self, value: Any, path: str) -> Any:
        """Return the domain value; raises InvalidInput."""
        ...

    def write(self, value: Any) -> Any:
        """Return the JSON value."""
        ...


class Verbatim:
    """Any JSON, kept as it is; base of the shapes whose domain value is the JSON value."""

    def read(self, value: Any, path: str) -> Any:
        check_json(value, path)
        return value

    def write(self, value: Any) -> Any:
        return value


def whole_number(value: Any) -> Any:
    """Return the number that a text or a float stands for, and every other value as it is.

    A fraction is cut off, as Keycloak 26.7 does.
    """
    if isinstance(value, str):
        text = value.strip()
        return int(text) if _DIGITS.fullmatch(text) else value
    return int(value) if isinstance(value, float) and isfinite(value) else value


class Flag(Verbatim):
    """A boolean; the words "true" and "false" are accepted, and whole numbers: 0 is false."""

    blank_is_null: ClassVar[bool] = True

    def read(self, value: Any, path: str) -> bool:
        flag = _SPELLED_FLAGS.get(value) if isinstance(value, str) else value
        if not isinstance(flag, int):
            raise mistyped(path, value, "true or false")
        return bool(flag)


@dataclass(frozen=True, slots=True)
class Count(Verbatim):
    """A whole number within bounds, in each form of `whole_number`."""

    least: int = 0
    most: int = MAX_INTEGER
    unit: str = ""
    blank_is_null: ClassVar[bool] = True

    def read(self, value: Any, path: str) -> int:
        number = whole_number(value)
        if isinstance(number, bool) or not isinstance(number, int):
            raise mistyped(path, value, self._allowed())
        if not self.least <= number <= self.most:
            raise refused(path, value, self._allowed())
        return number

    def _allowed(self) -> str:
        unit = f" of {self.unit}" if self.unit else ""
        return f"a whole number{unit} from {self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration as a whole number of its unit."""

    least: int = 0
    most: int = MAX_INTEGER
    unit: timedelta = timedelta(seconds=1)
    blank_is_null: ClassVar[bool] = True

    def read(self, value: Any, path: str) -> timedelta:
        name = "seconds" if self.unit == timedelta(seconds=1) else "milliseconds"
        return Count(self.least, self.most, name).read(value, path) * self.unit

    def write(self, value: timedelta) -> int:
        return value // self.unit


class Milliseconds:
    """An instant of the first thousand years after 1970."""

    blank_is_null: ClassVar[bool] = True

    def read(self, value: Any, path: str) -> datetime:
        count = Count(most=MAX_MILLISECONDS, unit="milliseconds since 1970").read(value, path)
        return _EPOCH + count * _MILLISECOND

    def write(self, value: datetime) -> int:
        return (value - _EPOCH) // _MILLISECOND


@dataclass(frozen=True, slots=True)
class OneOf(Verbatim):
    """One of a few numbers or words."""

    allowed: tuple[int | str, ...]

    def read(self, value: Any, path: str) -> int | str:
        for candidate in (value, whole_number(value)):
            if type(candidate) in (int, str) and candidate in self.allowed:
                return cast("int | str", candidate)
        raise refused(path, value, "one of " + ", ".join(map(str, self.allowed)))


@dataclass(frozen=True, slots=True)
class Choice(Generic[ChoiceT]):
    """One of the values of enumerations; `any_case` takes them in capitals as well.

    With `by_number`, a value may be given by its place, as Keycloak's decoder takes it.
    """

    choices: Iterable[ChoiceT]
    any_case: bool = False
    by_number: bool = False

    def read(self, value: Any, path: str) -> ChoiceT:
        text = value.lower() if self.any_case and isinstance(value, str) else value
        for number, member in enumerate(self.choices):
            if member.value == text or (self.by_number and type(value) is int and value == number):
                return member
        raise refused(path, value, "one of " + ", ".join(self.choices))

    def write(self, value: ChoiceT) -> str:
        return value.value


class OptionalChoice(Choice[ChoiceT]):
    """One of an enumeration's values; the empty text is None: nothing was chosen."""

    def read(self, value: Any, path: str) -> Any:
        return None if value == "" else Choice.read(self, value, path)

    def write(self, value: ChoiceT | None) -> str:
        return "" if value is None else value.value


def text_of_scalar(value: Any) -> Any:
    """Return the text of a boolean or of a number without an exponent, and all else as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and "e" not in repr(value):
        return repr(value)
    return value


class OneOfOrNull(OneOf):
    """One of a few numbers or words; the empty text and zero are null."""

    blank_is_null: ClassVar[bool] = True
    zero_is_null: ClassVar[bool] = True


class DurationOrNull(Duration):
    """A duration; zero is null."""

    zero_is_null: ClassVar[bool] = True


class ChoiceOrNull(Choice[ChoiceT]):
    """One of an enumeration's values; the empty text is null."""

    empty_is_null: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Text(Verbatim):
    """Text of bounded length; a boolean or a number counts as its text."""

    least: int = 0
    most: int = _MAX_TEXT

    def read(self, value: Any, path: str) -> str:
        text = text_of_scalar(value)
        if not isinstance(text, str) or not self.least <= len(text) <= self.most:
            raise refused_text(path, value, f"text of {self.least} to {self.most} characters")
        check_text(text, path)
        return text


@dataclass(frozen=True, slots=True)
class TextOrNull(Text):
    """Text of bounded length; the empty one is null."""

    empty_is_null: ClassVar[bool] = True


class OptionalText(Text):
    """Text of bounded length; the empty one is none."""

    def read(self, value: Any, path: str) -> Any:
        return Text.read(self, value, path) or None


@dataclass(frozen=True, slots=True)
class TextList:
    """A list of texts; the order is kept."""

    item: Shape = Text(most=2000)

    def read(self, value: Any, path: str) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > _MAX_ENTRIES:
            raise refused_items(path, value, list, f"a list of at most {_MAX_ENTRIES} texts")
        return tuple(parse_each(value, self.item.read, path))

    def write(self, value: tuple[str, ...]) -> list[str]:
        return list(value)


@dataclass(frozen=True, slots=True)
class TextMap:
    """An object of texts; the order is kept, an entry that is null is left out."""

    longest: int = 100_000

    def read(self, value: Any, path: str) -> dict[str, str]:
        if not isinstance(value, Mapping) or len(value) > _MAX_ENTRIES:
            raise refused_items(path, value, Mapping, f"an object of at most {_MAX_ENTRIES} texts")
        errors: list[FieldError] = []
        texts: dict[str, str] = {}
        for name, item in value.items():
            at = join(path, name)
            attempt(errors, None, check_text, name, at)
            if item is not None:
                texts[name] = attempt(errors, "", Text(most=self.longest).read, item, at)
        raise_all(errors)
        return texts

    def write(self, value: Mapping[str, str]) -> dict[str, str]:
        return dict(value)


@dataclass(frozen=True, slots=True)
class TextLists:
    """`attributes`: lists of texts by name; null counts as an empty list.

    With `singles`, a single value counts as a list of one: Keycloak reads those of users so.
    """

    singles: bool = False

    def read(self, value: Any, path: str) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, Mapping) or len(value) > _MAX_ENTRIES:
            allowed = f"an object of at most {_MAX_ENTRIES} lists of texts"
            raise refused_items(path, value, Mapping, allowed)
        errors: list[FieldError] = []
        lists: dict[str, tuple[str, ...]] = {}
        for name, item in value.items():
            at = join(path, name)
            attempt(errors, "", Text(least=1, most=255).read, name, at)
            lists[name] = attempt(errors, (), TextList(Text()).read, self._listed(item), at)
        raise_all(errors)
        return lists

    def write(self, value: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
        return {name: list(texts) for name, texts in value.items()}

    def _listed(self, item: Any) -> Any:
        if item is None:
            return []
        return [item] if self.singles and isinstance(item, (str, int, float)) else item


def is_absent(shape: Shape | None, value: Any) -> bool:
    """Return whether a field of that shape counts as not sent."""
    if isinstance(value, str) and getattr(shape, "blank_is_null", False):
        value = None if value.strip() in _NO_VALUE else whole_number(value)
    if value == "" and getattr(shape, "empty_is_null", False):
        return True
    is_zero = value == 0 and not isinstance(value, bool)
    if value in ([], {}) and type(value) in getattr(shape, "empty_types", ()):
        return True
    return value is None or (is_zero and getattr(shape, "zero_is_null", False))


def without_empty(
    attributes: Mapping[str, tuple[str, ...]] | None,
) -> Mapping[str, tuple[str, ...]] | None:
    """Leave out attributes without a value: Keycloak does not keep them."""
    return attributes and {name: texts for name, texts in attributes.items() if texts}


@dataclass(frozen=True, slots=True)
class VerbatimList(Verbatim):
    """A list of any JSON, kept as it is."""

    def read(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise mistyped(path, value, "a list")
        check_json(value, path)
        return value


@dataclass(frozen=True, slots=True)
class VerbatimObject(Verbatim):
    """An object of any JSON, kept as it is."""

    def read(self, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise mistyped(path, value, "an object")
        check_json(value, path)
        return value


_RESERVED = frozenset(":/?#[]@!$&'()*+,;=\\%<>{}|^\"`")
_DOTS = frozenset({".", ".."})
_LONGEST = 255


class UrlName(Verbatim):
    """A name that a path segment has as it is, or with %20 for a space inside."""

    def read(self, value: Any, path: str) -> str:
        name = text_of_scalar(value)
        if not _is_printable_name(name) or set(name) & _RESERVED or name in _DOTS:
            raise refused_text(path, value, f"1 to {_LONGEST} visible characters, none reserved")
        if name.strip() != name:
            raise refused_text(path, value, "a name without spaces at its ends")
        return str(name)


class ObjectId(UrlName):
    """The id of an object; the empty text is null."""

    empty_is_null: ClassVar[bool] = True


class VisibleName(Verbatim):
    """A name without spaces; URL characters are allowed."""

    def read(self, value: Any, path: str) -> str:
        name = text_of_scalar(value)
        if not _is_printable_name(name) or " " in name:
            raise refused_text(path, value, f"1 to {_LONGEST} visible characters without spaces")
        return str(name)


class PrintableName(Verbatim):
    """A name that may have spaces inside."""

    def read(self, value: Any, path: str) -> str:
        name = text_of_scalar(value)
        if not _is_printable_name(name) or name.strip() != name or name in _DOTS:
            raise refused_text(
                path, value, f"1 to {_LONGEST} printable characters, none of them hidden"
            )
        return str(name)


def _is_printable_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable()
