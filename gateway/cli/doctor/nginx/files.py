"""Reads a whole configuration of nginx with its includes, from disk or from `nginx -T`.

A relative name in an `include` is resolved against the folder of the main file, as nginx does.
Source: https://nginx.org/en/docs/ngx_core_module.html#include
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from gateway.cli.doctor.findings import Place
from gateway.cli.doctor.nginx.syntax import Directive, SyntaxProblem, parse

_HEADING: Final = re.compile(r"^# configuration file (/.+):$", re.MULTILINE)
_PATTERN: Final = re.compile(r"[*?\[]")
_MAIN_FILES: Final = ("realmgate.conf", "nginx.conf")
MOST_INCLUDED: Final = 32
"""Files that include each other in a chain."""
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file, or of an output of `nginx -T`."""


class _Files(Protocol):
    """Where the files of a configuration are."""

    def matching(self, pattern: str) -> list[str]:
        """Return the files that an include names, in nginx's order."""
        ...

    def text(self, name: str) -> str:
        """Return the text of a file; raises OSError."""
        ...


class _OnDisk:
    """Files as they are now."""

    def matching(self, pattern: str) -> list[str]:
        if not _PATTERN.search(pattern):
            return [pattern]
        path = Path(pattern)
        return sorted(map(str, Path(path.anchor).glob(str(path.relative_to(path.anchor)))))

    def text(self, name: str) -> str:
        with Path(name).open("rb") as file:
            return _decoded(file.read(LARGEST + 1), name)


@dataclass(frozen=True, slots=True)
class _Dumped:
    """Files in the output of `nginx -T`."""

    texts: Mapping[str, str]

    def matching(self, pattern: str) -> list[str]:
        if not _PATTERN.search(pattern):
            return [pattern]
        return sorted(name for name in self.texts if PurePosixPath(name).match(pattern))

    def text(self, name: str) -> str:
        if name not in self.texts:
            raise FileNotFoundError(2, "not in the output of nginx -T", name)
        return self.texts[name]


def read_configuration(path: Path) -> tuple[Directive, ...]:
    """Return the directives of a configuration; raises SyntaxProblem, OSError.

    `path` is a main file, a folder of `realmgate nginx render`, or an output of `nginx -T`.
    """
    if path.is_dir():
        found = [path / name for name in _MAIN_FILES if (path / name).is_file()]
        if not found:
            raise FileNotFoundError(2, f"has no {' or '.join(_MAIN_FILES)}", str(path))
        path = found[0]
    main = str(path.absolute())
    on_disk = _OnDisk()
    text = on_disk.text(main)
    if _HEADING.search(text):
        return read_dump(text)
    return _parsed(on_disk, main, str(path.absolute().parent), 0)


def read_dump(text: str) -> tuple[Directive, ...]:
    """Return the directives of an output of `nginx -T`; raises SyntaxProblem, OSError."""
    parts = _HEADING.split(text)
    names, texts = parts[1::2], parts[2::2]
    if not names:
        reason = "this is no output of nginx -T: it names no configuration file"
        raise SyntaxProblem(Place("nginx -T", 1), reason)
    files = _Dumped(
        {name: body.removeprefix("\n") for name, body in zip(names, texts, strict=True)}
    )
    return _parsed(files, names[0], str(PurePosixPath(names[0]).parent), 0)


def _parsed(files: _Files, name: str, folder: str, depth: int) -> tuple[Directive, ...]:
    return parse(files.text(name), name, partial(_included, files, folder, depth + 1))


def _included(files: _Files, folder: str, depth: int, include: Directive) -> tuple[Directive, ...]:
    if len(include.arguments) != 1:
        raise SyntaxProblem(include.place, "include takes one name")
    if depth > MOST_INCLUDED:
        raise SyntaxProblem(include.place, f"more than {MOST_INCLUDED} files include each other")
    pattern = str(PurePosixPath(folder) / include.arguments[0])
    directives: list[Directive] = []
    for name in files.matching(pattern):
        try:
            directives += _parsed(files, name, folder, depth)
        except OSError as failure:
            if failure.filename != name:
                raise
            reason = f"cannot read {name}: {failure.strerror}"
            raise SyntaxProblem(include.place, reason) from failure
    return tuple(directives)


def _decoded(content: bytes, name: str) -> str:
    if len(content) > LARGEST:
        raise SyntaxProblem(Place(name, 1), f"the file has more than {LARGEST} bytes")
    # nginx knows bytes alone; a name in another encoding must not stop the rest.
    return content.decode(errors="replace")
