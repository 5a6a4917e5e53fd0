"""Every field of every representation, sent with an empty value to any server of the admin API.

An answer is a list: the status, and, where a later GET shows the field, its value.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.empty_value_subjects import Subject, World

VALUES: Final[tuple[Any, ...]] = (None, "", 0, [], {})
"""In the order of the answers of a row."""
CREATE: Final = "create"
UPDATE: Final = "update"
_GENERATED: Final = (
    (re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile("(?i)probe[0-9]+"), "<name>"),
    (re.compile("[A-Za-z0-9_-]{30,}"), "<secret>"),
    (re.compile('\\{"hashIterations".*\\}'), "<hash>"),
    (re.compile("1[0-9]{9}(?:[0-9]{3})?"), "<time>"),
)
_MAYBE_OFF: Final = "organization"
"""The client scope of a feature that is not always enabled."""
_EARLIEST: Final = 1_500_000_000
Answer = list[Any]


@dataclass(frozen=True, slots=True)
class Row:
    """What a server answers to a field: one answer for each of VALUES."""

    subject: str
    operation: str
    field: str
    answers: tuple[Answer, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.subject, self.operation, self.field

    def write(self) -> str:
        """Return the line of the file."""
        return json.dumps([*self.key, *self.answers], separators=(",", ":"))


def read_rows(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a file."""
    for line in lines:
        subject, operation, name, *answers = json.loads(line)
        yield Row(subject, operation, name, tuple(answers))


def operations(subject: Subject) -> tuple[str, ...]:
    """Return what can be done with an object of the representation."""
    return tuple(
        name
        for name, possible in ((CREATE, subject.creates), (UPDATE, subject.updates))
        if possible
    )


@dataclass(slots=True)
class Probe:
    """Sends empty values of one representation's fields in one realm."""

    subject: Subject
    world: World
    _changed: tuple[str, Any] | None = None
    """Path and content of the object that updates change."""

    def ask(self, operation: str, names: Iterable[str], value: Any) -> dict[str, Answer]:
        """Send the value in these fields at once; return an answer for each."""
        sent = _fields(names, value)
        status, shown = (self._create if operation == CREATE else self._update)(sent)
        return {name: [status, *_shown(shown, name)] for name in names}

    def _create(self, sent: Mapping[str, Any]) -> tuple[int, Any]:
        document = _combined(self.world.numbered(self.subject.minimal), sent)
        response = self.subject.create(self.world, document)
        if not response.is_success:
            return response.status_code, None
        path = self.subject.path(self.world, response, document)
        shown = self.subject.read(self.world, path)
        self.subject.remove(self.world, path)
        return response.status_code, shown

    def _update(self, sent: Mapping[str, Any]) -> tuple[int, Any]:
        path, before = self._changed or self._made()
        whole = self.subject.whole(self.world, before)
        document = _combined(whole if self.subject.resends else {}, sent)
        response = self.subject.update(self.world, path, document)
        if not response.is_success:
            self._changed = (path, before)
            return response.status_code, None
        shown = self.subject.read(self.world, path)
        self._changed = (path, before) if shown == before else self._restored(path, before, whole)
        return response.status_code, shown

    def _restored(self, path: str, before: Any, whole: Mapping[str, Any]) -> tuple[str, Any] | None:
        """Return the object as it was; None where another has to be made."""
        response = self.subject.update(self.world, path, whole)
        if response.is_success and self.subject.read(self.world, path) == before:
            return path, before
        self.subject.remove(self.world, path)
        return None

    def _made(self) -> tuple[str, Any]:
        document = self.world.numbered({**self.subject.minimal, **self.subject.more})
        response = self.subject.create(self.world, document)
        assert response.is_success, f"{self.subject.name}: {response.text}"
        path = self.subject.path(self.world, response, document)
        return path, self.subject.read(self.world, path)


def measured(world: World, subject: Subject, operation: str) -> Iterator[Row]:
    """Yield every row of an operation as a server answers it, each field sent alone."""
    probe = Probe(subject, world)
    for name in subject.fields:
        answers = (probe.ask(operation, [name], value)[name] for value in VALUES)
        yield Row(subject.name, operation, name, tuple(answers))


def _fields(names: Iterable[str], value: Any) -> dict[str, Any]:
    """Return the members of a document; a name with a dot is that of a member's member."""
    document: dict[str, Any] = {}
    for name in names:
        outer, _, inner = name.partition(".")
        if inner:
            document[outer] = {**document.get(outer, {}), inner: value}
        else:
            document[outer] = value
    return document


def _combined(document: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with what is sent; the members of an object with dots are added."""
    return {
        **document,
        **{
            name: {**document[name], **value}
            if isinstance(value, dict) and value and isinstance(document.get(name), Mapping)
            else value
            for name, value in sent.items()
        },
    }


def _shown(document: Any, name: str) -> list[Any]:
    """Return the value of a field in a list, generated texts replaced; empty without one."""
    outer, _, inner = name.partition(".")
    found = document.get(outer) if isinstance(document, Mapping) else None
    if inner:
        found = found.get(inner) if isinstance(found, Mapping) else None
    return [] if found is None else [_settled(found)]


def _settled(value: Any) -> Any:
    """Return the value with a mark for all that differs from run to run; lists sorted."""
    if isinstance(value, Mapping):
        return {name: _settled(item) for name, item in sorted(value.items())}
    if isinstance(value, list):
        shown = (_settled(item) for item in value if item != _MAYBE_OFF)
        return sorted(shown, key=json.dumps)
    if isinstance(value, str):
        for pattern, mark in _GENERATED:
            value = pattern.sub(mark, value)
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value > _EARLIEST:
        return "<time>"
    return value
