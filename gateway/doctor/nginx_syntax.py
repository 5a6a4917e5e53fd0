"""Parses a configuration of nginx with its includes, from disk or from `nginx -T`.

The grammar is the one of nginx's own reader, so that both read a file alike: a word ends at a
blank, `;` or `{`, never at `}` or `#`; `${` starts a variable; a backslash keeps the next
character. A relative name in an `include` is resolved against the folder of the main file.
Source: https://github.com/nginx/nginx/blob/master/src/core/ngx_conf_file.c,
https://nginx.org/en/docs/ngx_core_module.html#include
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from gateway.doctor.findings import FilePlace

_BLANKS: Final = frozenset(" \t\r\n")
_ESCAPED: Final = {"t": "\t", "r": "\r", "n": "\n"}
_LUA_BLOCK: Final = "_by_lua_block"
MOST_NESTED: Final = 64
"""Blocks in blocks."""


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive; `block` is None where it ends with a semicolon."""

    name: str
    arguments: tuple[str, ...]
    place: FilePlace
    block: tuple["Directive", ...] | None = None


class SyntaxProblem(Exception):
    """Text that nginx would refuse; `str()` names file, line and reason."""

    def __init__(self, place: FilePlace, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place


class _End(Enum):
    """The mark that ended a sequence of words."""

    SEMICOLON = "semicolon"
    BLOCK = "block"
    BLOCK_END = "block end"
    FILE = "file"


_LEAST_ARGUMENTS: Final = dict.fromkeys(
    (
        *("ssl_certificate", "ssl_certificate_key", "ssl_client_certificate", "ssl_crl"),
        *(
            "ssl_trusted_certificate",
            "ssl_verify_client",
            "proxy_pass",
            "fastcgi_pass",
            "grpc_pass",
        ),
        *("uwsgi_pass", "scgi_pass", "memcached_pass", "proxy_buffer_size", "proxy_cache_key"),
        *("proxy_cache_valid", "auth_request", "alias", "root", "listen", "server_name", "include"),
    ),
    1,
) | dict.fromkeys(
    (
        *("proxy_set_header", "grpc_set_header", "fastcgi_param", "uwsgi_param", "scgi_param"),
        *("add_header", "rewrite", "error_page"),
    ),
    2,
)
"""Arguments without which nginx refuses a directive that checks read.

Source: https://nginx.org/en/docs/dirindex.html
"""


def parse_configuration(
    text: str, file: str, included: Callable[[Directive], tuple[Directive, ...]] | None = None
) -> tuple[Directive, ...]:
    """Return the directives of a file; raises SyntaxProblem.

    `included` returns the directives that take the place of an `include`; without it the directive
    is kept.
    """
    reader = _Reader(text, file)
    levels: list[list[Directive]] = [[]]
    opened: list[Directive] = []
    while True:
        place, words, end = reader.words()
        match end:
            case _End.FILE:
                if opened:
                    raise SyntaxProblem(opened[-1].place, f'"{opened[-1].name} {{" is never closed')
                return tuple(levels[0])
            case _End.BLOCK_END:
                if not opened:
                    raise SyntaxProblem(place, 'unexpected "}"')
                levels[-2].append(replace(opened.pop(), block=tuple(levels.pop())))
                continue
        directive = Directive(words[0], tuple(words[1:]), place)
        if end is _End.SEMICOLON and directive.name == "include" and included is not None:
            levels[-1] += included(directive)
        elif end is _End.SEMICOLON:
            levels[-1].append(_with_arguments(directive))
        elif directive.name.endswith(_LUA_BLOCK):
            code = reader.lua(place)
            levels[-1].append(replace(directive, arguments=(*directive.arguments, code)))
        elif len(opened) == MOST_NESTED:
            raise SyntaxProblem(place, f"more than {MOST_NESTED} nested blocks")
        else:
            opened.append(directive)
            levels.append([])


def _with_arguments(directive: Directive) -> Directive:
    """Return a directive; raises SyntaxProblem where it has too few arguments."""
    if len(directive.arguments) < _LEAST_ARGUMENTS.get(directive.name, 0):
        text = f'invalid number of arguments in "{directive.name}" directive'
        raise SyntaxProblem(directive.place, text)
    return directive


class _Reader:
    """Reads the words of one file."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0
        self._line = 1

    def words(self) -> tuple[FilePlace, list[str], _End]:
        """Return the words up to the next mark, the line of the first, and the mark."""
        words: list[str] = []
        first: FilePlace | None = None
        while True:
            self._skip_blanks()
            here = self._place()
            mark = self._peek()
            if mark == "":
                if words:
                    raise SyntaxProblem(here, 'unexpected end of file, expecting ";" or "}"')
                return here, words, _End.FILE
            if mark in "{;" and not words:
                raise SyntaxProblem(here, f'unexpected "{mark}"')
            if mark == "}":
                if words:
                    raise SyntaxProblem(here, 'unexpected "}"')
                self._next()
                return here, words, _End.BLOCK_END
            if mark in "{;":
                self._next()
                return first or here, words, _End.BLOCK if mark == "{" else _End.SEMICOLON
            first = first or here
            words.append(self._quoted(mark) if mark in "\"'" else self._word())

    def lua(self, opened: FilePlace) -> str:
        """Return the code up to the brace that closes a block of Lua."""
        start, depth = self._at, 1
        while depth:
            character = self._next()
            if character == "":
                raise SyntaxProblem(opened, "a block of Lua is never closed")
            if character == "-" and self._peek() == "-":
                self._skip_line()
            elif character in "\"'":
                self._skip_text(character, opened)
            depth += {"{": 1, "}": -1}.get(character, 0)
        return self._text[start : self._at - 1]

    def _place(self) -> FilePlace:
        return FilePlace(self._file, self._line)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        self._at += len(character)
        self._line += character == "\n"
        return character

    def _skip_blanks(self) -> None:
        while (character := self._peek()) and (character in _BLANKS or character == "#"):
            if character == "#":
                self._skip_line()
            else:
                self._next()

    def _skip_line(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _skip_text(self, quote: str, opened: FilePlace) -> None:
        while (character := self._next()) != quote:
            if character == "":
                raise SyntaxProblem(opened, "a text of Lua is never closed")
            if character == "\\":
                self._next()

    def _word(self) -> str:
        """Read up to a blank or a mark; `${` is the start of a variable, not of a block."""
        start, after_dollar = self._at, False
        while (character := self._peek()) and character not in _BLANKS and character != ";":
            if character == "{" and not after_dollar:
                break
            after_dollar = character == "$" or (after_dollar and character == "{")
            self._next()
            if character == "\\":
                self._next()
        return _unescaped(self._text[start : self._at])

    def _quoted(self, quote: str) -> str:
        opened = self._place()
        self._next()
        start = self._at
        while (character := self._next()) != quote:
            if character == "":
                raise SyntaxProblem(opened, f"a text in {quote} is never closed")
            if character == "\\":
                self._next()
        text = self._text[start : self._at - 1]
        following = self._peek()
        if following and following not in _BLANKS and following not in ";{)":
            raise SyntaxProblem(self._place(), f'unexpected "{following}" after a quoted text')
        return _unescaped(text)


def _unescaped(word: str) -> str:
    """Drop the backslash before a quote or a backslash; others stay, for regular expressions."""
    if "\\" not in word:
        return word
    characters, at = [], 0
    while at < len(word):
        following = word[at + 1 : at + 2] if word[at] == "\\" else ""
        if following in _ESCAPED:
            characters.append(_ESCAPED[following])
            at += 2
            continue
        if following and following in "\"'\\":
            at += 1
        characters.append(word[at])
        at += 1
    return "".join(characters)


_HEADING: Final = re.compile(r"^# configuration file (/.+):$", re.MULTILINE)
_PATTERN: Final = re.compile(r"[*?\[]")
_MAIN_FILES: Final = ("realmgate.conf", "nginx.conf")
MOST_INCLUDED: Final = 32
"""Files that include each other in a chain."""
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file, or of an output of `nginx -T`."""


class _Files(Protocol):
    """Source of the files of a configuration."""

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
    main = str(main_file_of(path))
    on_disk = _OnDisk()
    text = on_disk.text(main)
    if _HEADING.search(text):
        return read_dump(text)
    return _parsed(on_disk, main, str(Path(main).parent), 0)


def main_file_of(path: Path) -> Path:
    """Return the main file at a path, which may be its folder; raises FileNotFoundError."""
    if path.is_dir():
        found = [path / name for name in _MAIN_FILES if (path / name).is_file()]
        if not found:
            raise FileNotFoundError(2, f"has no {' or '.join(_MAIN_FILES)}", str(path))
        path = found[0]
    return path.absolute()


def main_file_of_dump(text: str) -> str | None:
    """Return the file that an output of `nginx -T` names first; None where it is no output."""
    found = _HEADING.search(text)
    return None if found is None else found[1]


def is_dump(path: Path) -> bool:
    """Tell whether a file is an output of `nginx -T`; raises OSError."""
    return _HEADING.search(_OnDisk().text(str(path))) is not None


def read_dump(text: str) -> tuple[Directive, ...]:
    """Return the directives of an output of `nginx -T`; raises SyntaxProblem, OSError."""
    parts = _HEADING.split(text)
    names, texts = parts[1::2], parts[2::2]
    if not names:
        reason = "this is no output of nginx -T: it names no configuration file"
        raise SyntaxProblem(FilePlace("nginx -T", 1), reason)
    files = _Dumped(
        {name: body.removeprefix("\n") for name, body in zip(names, texts, strict=True)}
    )
    return _parsed(files, names[0], str(PurePosixPath(names[0]).parent), 0)


def _parsed(files: _Files, name: str, folder: str, depth: int) -> tuple[Directive, ...]:
    return parse_configuration(files.text(name), name, partial(_included, files, folder, depth + 1))


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
        raise SyntaxProblem(FilePlace(name, 1), f"the file has more than {LARGEST} bytes")
    # nginx knows bytes alone; a name in another encoding must not stop the rest.
    return content.decode(errors="replace")
