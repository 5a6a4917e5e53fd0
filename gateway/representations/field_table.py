"""Tables of fields: JSON name, shape, the place of the value in the domain, and the two spellings.

One table reads a representation, merges a partial one, and writes it in Keycloak's order. A field
without a place in the domain is stored by name, unless it has its default value. A small
representation is a mapping of shapes by name.

A field has two spellings, Keycloak's camelCase and the specification's snake_case, by the rule of
Ansible's keycloak modules: split at `_`, keep the first word, capitalise each following one. Its
inverse puts a `_` before every capital.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from gateway.domain.errors import FieldError
from gateway.representations.json_input import check_json, check_text
from gateway.representations.refusals import attempt, describe, join, raise_all, require_known
from gateway.representations.shapes import Choice, Count, Duration, Flag, OneOf, Shape, is_absent

_CAPITAL = re.compile("[A-Z]")


def camel_case(name: str) -> str:
    """Return the JSON name of a snake_case name."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def snake_case(name: str) -> str:
    """Return the snake_case name of a JSON name."""
    return _CAPITAL.sub(lambda capital: "_" + capital.group().lower(), name)


class FieldNames:
    """The known field names of one representation."""

    def __init__(self, names: Iterable[str]) -> None:
        self._camel = {spelling: name for name in names for spelling in (name, snake_case(name))}

    def __contains__(self, spelling: object) -> bool:
        """Return whether `spelling` is one of the names, either way."""
        return spelling in self._camel

    def __iter__(self) -> Iterator[str]:
        return iter(set(self._camel.values()))

    def collect(
        self,
        document: Mapping[str, Any],
        path: str,
        errors: list[FieldError],
        allowed: str | None = None,
    ) -> dict[str, tuple[str, Any]]:
        """Return the given values by camelCase name, with the path as its author wrote it.

        A null counts as not given. A name in both spellings is an error, equal or not: it is
        unknown which of them the author changes next time. With `allowed`, the text of what
        is expected, an unknown name is an error as well.
        """
        given: dict[str, tuple[str, Any]] = {}
        for spelling, value in document.items():
            name = self._camel.get(spelling, spelling)
            if value is None:
                continue
            if name in given:
                both = f"{describe(name)} and {describe(snake_case(name))}"
                errors.append(FieldError(join(path, name), both, "one spelling"))
            given[name] = (join(path, spelling), value)
        if allowed is not None:
            errors.extend(
                FieldError(at, describe(name), allowed)
                for name, (at, _) in given.items()
                if name not in self._camel
            )
        return given


_NO_TEXT: Final = (Choice, Count, Duration, Flag, OneOf)
"""Shapes of which no value can be a secret."""

Given = Mapping[str, tuple[str, Any]]
"""The given values by JSON name: the path as its author wrote it, and the value."""

DomainT = TypeVar("DomainT")


def without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a JSON object that have a value."""
    return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of the domain: `attribute` of the value itself, or of its part `group`.

    With `omit_empty`, an answer has no empty value, as Keycloak's. `public` is for text that is
    never a secret, a password, a key or a certificate, so that admin events may record it. A
    `read_only` field is given by the server.
    """

    name: str
    attribute: str
    shape: Shape
    omit_empty: bool = False
    public: bool = False
    group: str | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class StoredOnly:
    """A field without a rule yet: checked, stored as given, answered with Keycloak's default.

    `public` as for Setting.
    """

    name: str
    default: Any
    shape: Shape
    public: bool = False


class FieldTable:
    """The fields of one representation."""

    def __init__(
        self,
        entries: Iterable[Setting | StoredOnly],
        beside: Iterable[str] = (),
        ignored: Mapping[str, Shape] | None = None,
    ) -> None:
        """Take the fields, names that others read, and fields whose type alone is checked."""
        self._entries = tuple(entries)
        self._settings = {
            entry.name: entry for entry in self._entries if isinstance(entry, Setting)
        }
        self._kept = {entry.name: entry for entry in self._entries if isinstance(entry, StoredOnly)}
        self._ignored = dict(ignored or {})
        self._beside = frozenset((*beside, *self._ignored))
        self._shapes = {entry.name: entry.shape for entry in self._entries}
        self._names = FieldNames([*self._settings, *self._kept, *self._beside])

    @property
    def shapes(self) -> dict[str, Shape]:
        return dict(self._shapes)

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The fields of the domain, by JSON name."""
        return self._settings

    @property
    def writable(self) -> dict[str, Shape]:
        """The shapes of the fields that a client may send."""
        own = self._settings
        return {name: each for name, each in self._shapes.items() if not own[name].read_only}

    @property
    def ignored(self) -> dict[str, Shape]:
        return dict(self._ignored)

    @property
    def recorded(self) -> frozenset[str]:
        """The fields whose value admin events record: the public ones, and all without text."""
        return frozenset(
            entry.name
            for entry in self._entries
            if entry.public or isinstance(entry.shape, _NO_TEXT)
        )

    @property
    def beside(self) -> tuple[str, ...]:
        return tuple(sorted(self._beside))

    def collect(self, document: Mapping[str, Any], path: str, errors: list[FieldError]) -> Given:
        """Return the fields that were sent, by JSON name; see `is_absent`."""
        given = self._names.collect(document, path, errors)
        return {
            name: field
            for name, field in given.items()
            if not is_absent(self._shapes.get(name) or self._ignored.get(name), field[1])
        }

    def require_known(
        self, document: Mapping[str, Any], representation: str, path: str = ""
    ) -> None:
        """Raise UnknownField for the first field that Keycloak's representation has not."""
        require_known(document, self._names, representation, path)

    def read_settings(self, given: Given, errors: list[FieldError]) -> dict[str, Any]:
        """Return the domain values of the settings that were given, by JSON name."""
        return {
            name: attempt(errors, None, self._settings[name].shape.read, value, at)
            for name, (at, value) in given.items()
            if name in self._settings
        }

    def read_kept(
        self, given: Given, before: Mapping[str, Any], errors: list[FieldError]
    ) -> dict[str, Any]:
        """Return `before` with the given values that have no field in the domain."""
        values = dict(before)
        for name, (at, value) in given.items():
            if name in self._kept:
                values[name] = attempt(errors, None, _checked, self._kept[name].shape, value, at)
            elif name in self._ignored:
                attempt(errors, None, self._ignored[name].read, value, at)
            elif name not in self._settings and name not in self._beside:
                attempt(errors, None, _check_unknown, name, value, at)
                values[name] = value
        return {name: value for name, value in values.items() if not self._at_default(name, value)}

    def updated(self, before: DomainT, updates: Mapping[str, Any]) -> DomainT:
        """Return `before` with the values that `read_settings` gave."""
        own: dict[str, Any] = {}
        groups: dict[str, dict[str, Any]] = {}
        for name, value in updates.items():
            setting = self._settings[name]
            target = own if setting.group is None else groups.setdefault(setting.group, {})
            target[setting.attribute] = value
        for group, values in groups.items():
            own[group] = replace(getattr(before, group), **values)
        return replace(before, **own)  # type: ignore[type-var] # always a dataclass

    def answer(self, value: Any, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object, unknown fields last."""
        answer: dict[str, Any] = {}
        for entry in self._entries:
            written = _written(entry, value, kept)
            if written is not None:
                answer[entry.name] = written
        answer |= {name: field for name, field in kept.items() if name not in self._kept}
        return answer

    def render_present(self, value: Any) -> dict[str, Any]:
        """Return the JSON object with the fields that have a value, read-only ones included."""
        return {
            name: setting.shape.write(field)
            for name, setting in self._settings.items()
            if (field := getattr(value, setting.attribute)) is not None
        }

    def _at_default(self, name: str, value: Any) -> bool:
        return name in self._kept and value == self._kept[name].default


def _checked(shape: Shape, value: Any, at: str) -> Any:
    return shape.write(shape.read(value, at))


def _check_unknown(name: str, value: Any, at: str) -> None:
    check_text(name, at)
    check_json(value, at)


def _written(entry: Setting | StoredOnly, value: Any, kept: Mapping[str, Any]) -> Any:
    if isinstance(entry, StoredOnly):
        field = kept.get(entry.name, entry.default)
        # A copy: the caller may change the answer, but not the default.
        return deepcopy(field) if isinstance(field, list | dict) else field
    group = value if entry.group is None else getattr(value, entry.group)
    field = getattr(group, entry.attribute)
    written = entry.shape.write(field)
    return None if entry.omit_empty and not (field and written) else written


def parse_fields(
    document: Mapping[str, Any], fields: Mapping[str, Shape], path: str, errors: list[FieldError]
) -> dict[str, Any]:
    """Return the sent values of `fields`, by name; other members are ignored."""
    return {
        name: attempt(errors, None, shape.read, document[name], join(path, name))
        for name, shape in fields.items()
        if not is_absent(shape, document.get(name))
    }


def parse_given(
    given: Given, fields: Mapping[str, Shape], errors: list[FieldError]
) -> dict[str, Any]:
    """Return the given values of `fields`, by name."""
    return {
        name: attempt(errors, None, shape.read, given[name][1], given[name][0])
        for name, shape in fields.items()
        if name in given
    }


def parse_strictly(
    document: Mapping[str, Any], fields: Mapping[str, Shape], representation: str, path: str = ""
) -> dict[str, Any]:
    """Return the sent values by name; raises UnknownField and InvalidInput."""
    require_known(document, fields, representation, path)
    errors: list[FieldError] = []
    values = parse_fields(document, fields, path, errors)
    raise_all(errors)
    return values
