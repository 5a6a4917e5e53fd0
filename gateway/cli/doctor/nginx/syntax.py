"""Parses nginx's configuration language: directives, blocks, quotes, comments, with their lines.

The grammar is the one of nginx's own reader, so that both read a file alike: a word ends at a
blank, `;` or `{`, never at `}` or `#`; `${` starts a variable; a backslash keeps the next
character. Source: https://github.com/nginx/nginx/blob/master/src/core/ngx_conf_file.c
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from gateway.cli.doctor.findings import Place

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
    place: Place
    block: tuple["Directive", ...] | None = None


class SyntaxProblem(Exception):
    """Text that nginx would refuse; `str()` names file, line and reason."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place


class _End(Enum):
    """What ended a sequence of words."""

    SEMICOLON = "semicolon"
    BLOCK = "block"
    BLOCK_END = "block end"
    FILE = "file"


def parse(
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
            levels[-1].append(directive)
        elif directive.name.endswith(_LUA_BLOCK):
            code = reader.lua(place)
            levels[-1].append(replace(directive, arguments=(*directive.arguments, code)))
        elif len(opened) == MOST_NESTED:
            raise SyntaxProblem(place, f"more than {MOST_NESTED} nested blocks")
        else:
            opened.append(directive)
            levels.append([])


class _Reader:
    """Reads the words of one file."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0
        self._line = 1

    def words(self) -> tuple[Place, list[str], _End]:
        """Return the words up to the next mark, the line of the first, and what the mark is."""
        words: list[str] = []
        first: Place | None = None
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

    def lua(self, opened: Place) -> str:
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

    def _place(self) -> Place:
        return Place(self._file, self._line)

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

    def _skip_text(self, quote: str, opened: Place) -> None:
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
