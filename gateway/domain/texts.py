"""Texts of pages and mails: files of messages, and what takes the place of `{0}` in them.

The files have the format of Keycloak's, so that those of a Keycloak theme can be used: UTF-8,
`key=text`, `#` begins a comment, an apostrophe is written twice. Keycloak: themes
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

ENGLISH: Final = "en"
Catalog = Mapping[str, str]
"""Texts by key, of one language."""
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)")
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SEPARATOR: Final = re.compile(r"(?<!\\)[=:]")
_PART: Final = re.compile(r"''|'([^']*)'?|\{(\d{1,2})(?:,[^{}]*)?\}")
_REFERENCE: Final = re.compile(r"\$\{([^${}]{1,255})\}")
_RIGHT_TO_LEFT: Final = frozenset(
    {"ar", "ckb", "dv", "fa", "he", "iw", "ku", "ps", "sd", "ug", "ur", "yi"}
)


def parse_messages(content: str) -> dict[str, str]:
    """Return the texts of one file by key; a line without a separator is a key without a text."""
    found: dict[str, str] = {}
    lines = iter(content.removeprefix("\ufeff").splitlines())
    for line in lines:
        entry = line.lstrip()
        if not entry or entry[0] in "#!":
            continue
        while _continues(entry):
            entry = entry[:-1] + next(lines, "").lstrip()
        key, _, text = _split(entry)
        found[_unescape(key.strip())] = _unescape(text.lstrip())
    return found


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(entry: str) -> tuple[str, str, str]:
    place = _SEPARATOR.search(entry)
    if place is None:
        return entry, "", ""
    return entry[: place.start()], place.group(), entry[place.end() :]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def meant(found: re.Match[str]) -> str:
        character = found.group(1)
        if len(character) > 1:
            return chr(int(character[1:], 16))
        return _CONTROLS.get(character, character)

    return _ESCAPE.sub(meant, text)


def format_message(pattern: str, arguments: Sequence[str] = ()) -> str:
    """Return the text with its arguments, by the rules of Java's MessageFormat.

    Two apostrophes are one; text between single ones is literal; a place without an argument stays
    as it is. Formats of numbers and dates are not known: the argument is shown as it is.
    """
    if "'" not in pattern and "{" not in pattern:
        return pattern

    def meant(found: re.Match[str]) -> str:
        if found.group(2) is not None:
            place = int(found.group(2))
            return arguments[place] if place < len(arguments) else found.group()
        return "'" if found.group() == "''" else found.group(1)

    return _PART.sub(meant, pattern)


def is_right_to_left(locale: str) -> bool:
    """Tell whether the script of a language runs from right to left."""
    return language_of(locale) in _RIGHT_TO_LEFT


def language_of(locale: str) -> str:
    """Return `pt` of `pt-BR`, in small letters."""
    return locale.replace("_", "-").partition("-")[0].lower()


def fallbacks(locale: str) -> tuple[str, ...]:
    """Return the locales whose texts are taken, the best first; English is the last."""
    return tuple(dict.fromkeys((locale, language_of(locale), ENGLISH)))


@dataclass(frozen=True, slots=True)
class Text:
    """A text by its key; `arguments` take the place of `{0}`, `{1}` ... in it."""

    key: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one page or mail, in one language.

    `catalogs` are asked in their order. A key without a text is shown as it is, as in Keycloak.
    """

    locale: str
    catalogs: tuple[Catalog, ...] = field(repr=False)

    def __call__(self, key: str, *arguments: str) -> str:
        return format_message(self.pattern(key) or key, arguments)

    def pattern(self, key: str) -> str | None:
        """Return the unformatted text, None for an unknown key."""
        return next((catalog[key] for catalog in self.catalogs if key in catalog), None)

    def of(self, text: Text) -> str:
        return self(text.key, *text.arguments)

    def named(self, name: str, *arguments: str) -> str:
        """Return a name that an administrator gave; it may contain keys in the form `${key}`."""
        if "${" not in name:
            return name
        return _REFERENCE.sub(lambda found: self(found.group(1), *arguments), name)


def texts_for(locale: str, *layers: Mapping[str, Catalog], always: Iterable[Catalog] = ()) -> Texts:
    """Return the texts of a page: of each language those of the first layer before the next.

    The layers are the realm's own texts, those of the theme, and the built-in ones, by locale.
    """
    found = [layer[tag] for tag in fallbacks(locale) for layer in layers if tag in layer]
    return Texts(locale, (*found, *always))
