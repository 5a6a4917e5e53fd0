"""Texts of pages and mails: the choice of the language, files of messages, arguments such as `{0}`.

Only where the realm enables internationalization; else pages are in English. The first preference
that the realm supports decides, in the order of the fields of `LocalePreferences`; then the realm's
default. The files have the format of Keycloak's, so that those of a Keycloak theme can be used:
UTF-8, `key=text`, `#` begins a comment, an apostrophe is written twice. Keycloak: 12.12 login
pages, themes
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.realm import Localization

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
class LocalizedText:
    """A text by its key; `arguments` take the place of `{0}`, `{1}` ... in it."""

    key: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one page or mail; `catalogs` are asked in order, a key without text stays."""

    locale: str
    catalogs: tuple[Catalog, ...] = field(repr=False)

    def __call__(self, key: str, *arguments: str) -> str:
        return format_message(self.pattern(key) or key, arguments)

    def pattern(self, key: str) -> str | None:
        """Return the unformatted text, None for an unknown key."""
        return next((catalog[key] for catalog in self.catalogs if key in catalog), None)

    def of(self, text: LocalizedText) -> str:
        return self(text.key, *text.arguments)

    def named(self, name: str, *arguments: str) -> str:
        """Return a name that an administrator gave; it may contain keys in the form `${key}`."""
        if "${" not in name:
            return name
        return _REFERENCE.sub(lambda found: self(found.group(1), *arguments), name)


def texts_for(locale: str, *layers: Mapping[str, Catalog], always: Iterable[Catalog] = ()) -> Texts:
    """Return the texts of a page: for each language realm, theme and built-in texts in turn."""
    found = [layer[tag] for tag in fallbacks(locale) for layer in layers if tag in layer]
    return Texts(locale, (*found, *always))


_LONGEST: Final = 1_000
"""Characters of a header or parameter that are read."""
_MOST: Final = 20
"""Languages of one preference that are considered."""
_TAG: Final = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_WEIGHTED: Final = re.compile(r"([A-Za-z0-9_-]{1,35})(?:;q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalePreferences:
    """Where a user's language comes from, the strongest source first; empty without one."""

    chosen: str = ""
    """`kc_locale`: the user chose it on a page of this sign-in."""
    user: str = ""
    """The attribute `locale` of the user."""
    client: str = ""
    """`ui_locales`: separated by spaces, the best first."""
    cookie: str = ""
    """`KEYCLOAK_LOCALE`: chosen in this browser before."""
    browser: str = ""
    """The header Accept-Language."""


def select_locale(settings: Localization, preferences: LocalePreferences) -> str:
    """Return the locale of a page, written as the realm supports it."""
    if not settings.enabled:
        return ENGLISH
    preferred = (
        (preferences.chosen,),
        (preferences.user,),
        preferences.client[:_LONGEST].split()[:_MOST],
        (preferences.cookie,),
        _by_weight(preferences.browser),
    )
    for tags in preferred:
        found = _supported(settings.supported_locales, tags)
        if found is not None:
            return found
    return settings.default_locale or ENGLISH


def supported_locale(settings: Localization, tag: str) -> str | None:
    """Return the supported locale that a user chose, None where the realm offers none like it."""
    found = _supported(settings.supported_locales, (tag,)) if settings.enabled else None
    return found if found is not None and _TAG.fullmatch(found) else None


def _supported(supported: tuple[str, ...], tags: Iterable[str]) -> str | None:
    """Return the supported locale that fits the first tag that any fits."""
    for tag in tags:
        if not _TAG.fullmatch(tag):
            continue
        fitting = [locale for locale in supported if _fits(locale, tag)]
        if fitting:
            return min(fitting, key=lambda locale: _normal(locale) != _normal(tag))
    return None


def _fits(locale: str, tag: str) -> bool:
    """Tell whether the languages are the same and the countries do not differ."""
    first, second = _country(locale), _country(tag)
    same_country = not first or not second or first == second
    return language_of(locale) == language_of(tag) and same_country


def _country(tag: str) -> str:
    parts = _normal(tag).split("-")[1:]
    return next((part for part in parts if len(part) in {2, 3} and not part.startswith("x")), "")


def _normal(tag: str) -> str:
    return tag.replace("_", "-").lower()


def _by_weight(header: str) -> list[str]:
    """Return the languages of Accept-Language, the most preferred first. Spec: RFC 9110 §12.5.4."""
    return [tag for _, tag in sorted(_weighted(header), key=lambda pair: -pair[0])][:_MOST]


def _weighted(header: str) -> Iterator[tuple[float, str]]:
    for part in header[:_LONGEST].split(","):
        found = _WEIGHTED.fullmatch("".join(part.split()))
        weight = float(found.group(2) or 1) if found else 0.0
        if found and weight > 0:
            yield weight, found.group(1)
