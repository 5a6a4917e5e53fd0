"""Realm files: one realm, or a list of them, with users, clients and roles beside the settings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.admin.realm_files.placeholders import (
    EndlessPlaceholderError,
    replace_placeholders,
    unset_names,
    unset_variable,
    unset_variables,
)
from gateway.domain.errors import FieldError, InvalidInput
from gateway.representations.json_input import parse_json
from gateway.representations.refusals import attempt, join, located, raise_all, refused

_MOST = 100_000
_LONGEST_FILE = 256 * 1024 * 1024
_OPENING = b"${"

REFERENCE_REALMS: Final = (
    Path(__file__).resolve().parents[2] / "reference_configuration" / "realms.json"
)
"""The reference configuration: the realms `master` and `demo`."""


@dataclass(frozen=True, slots=True)
class RealmFile:
    """The parsed JSON of a file; `source` is its name in errors."""

    source: str
    document: Any
    repetitions: tuple[str, ...] = ()
    """Names that come twice in one object; their last value counts."""

    def realms(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each realm's path and JSON object; raises InvalidInput."""
        if isinstance(self.document, dict):
            yield "", self.document
            return
        if not isinstance(self.document, list) or not self.document:
            raise refused("realm", self.document, "a realm, or a list of realms")
        for index, document in enumerate(self.document):
            if not isinstance(document, dict):
                raise refused(f"[{index}]", document, "a realm")
            yield f"[{index}]", document


def load_realm_files(paths: Iterable[Path], variables: Mapping[str, str]) -> tuple[RealmFile, ...]:
    """Read and parse the files; raises InvalidInput with what is wrong in each of them.

    `variables` are those of the environment, for placeholders.
    """
    errors: list[FieldError] = []
    files = [attempt(errors, None, _load, path, variables) for path in paths]
    raise_all(errors)
    return tuple(file for file in files if file is not None)


def _load(path: Path, variables: Mapping[str, str]) -> RealmFile:
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        sentence = f"the file cannot be read: {error.strerror}"
        wrong = FieldError(str(path), "nothing", "a readable file", sentence=sentence)
        raise InvalidInput((wrong,)) from error
    if len(text) > _LONGEST_FILE:
        allowed = f"at most {_LONGEST_FILE} bytes"
        raise InvalidInput((FieldError(str(path), "a longer file", allowed),))
    repetitions: list[str] = []
    text = _with_variables(text, path, variables)
    try:
        document = parse_json(text, path, repetitions)
    except InvalidInput as error:
        unset = unset_names(text.decode(errors="replace"))
        raise_all(unset_variable(str(path), name) for name in unset)
        raise error from None
    with located(path):
        raise_all(unset_variables(document))
    return RealmFile(str(path), document, tuple(dict.fromkeys(repetitions)))


def _with_variables(text: bytes, path: Path, variables: Mapping[str, str]) -> bytes:
    """Return the text with its placeholders replaced; the parser refuses what is no UTF-8."""
    if _OPENING not in text:
        return text
    try:
        replaced = replace_placeholders(text.decode(), variables, _LONGEST_FILE)
    except UnicodeDecodeError:
        return text
    except EndlessPlaceholderError as error:
        sentence = "a placeholder stands for itself, or for a text longer than a file may be"
        wrong = FieldError(str(path), "a placeholder", "one with an end", sentence=sentence)
        raise InvalidInput((wrong,)) from error
    return replaced.encode(errors="surrogateescape")


def embedded(document: Mapping[str, Any], name: str, path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return path and JSON object of each of the realm's `users` or `clients`."""
    items = document.get(name)
    at = join(path, name)
    if items is None:
        return []
    if not isinstance(items, list) or len(items) > _MOST:
        raise refused(at, items, f"a list of at most {_MOST}")
    found = [(f"{at}[{index}]", item) for index, item in enumerate(items)]
    errors = tuple(
        FieldError(place, "no object", "an object")
        for place, item in found
        if not isinstance(item, dict)
    )
    if errors:
        raise InvalidInput(errors)
    return found
