"""The validators of user profiles: the configuration of one, a function for each, and their table.

A validator returns the check that its configuration asks for; what cannot be used is noted in the
errors of the configuration. `error-message` replaces the message of `pattern` and of characters.
Patterns are Python's, which differ from Java's in rare things: a pattern that cannot be read, or
could match for hours, is refused with the profile. A value of more than 1024 characters matches
nothing, and a value is refused where the patterns of the whole profile would take longer than one
evaluation may. `local-date` always has the English short form: month, day and year with slashes.
Keycloak: the built-in validators that a profile may name; ValidatorConfig with its messages,
numbers may be texts; 0.2 (family C), IntegerValidator, DoubleValidator, LengthValidator,
MultiValueValidator, NotEmptyValidator, NotBlankValidator, LocalDateValidator, IsoDateValidator,
EmailValidator, EmailValidationUtil, OptionsValidator, PatternValidator, UriValidator,
UsernameProhibitedCharactersValidator, PersonNameProhibitedCharactersValidator,
UsernameIDNHomographValidator, whose "common" script is taken to be what is neither letter, mark nor
digit, and the digits in common use. Spec: RFC 3339 (`full-date`), RFC 3986
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Generic, TypeVar

from gateway.domain.limits.patterns import PatternMatches, Verdict, pattern_problem
from gateway.domain.user_profile import Check, ProfileFinding, each

_MISSING: Final = "error-validator-config-missing-value"
_WRONG: Final = "error-validator-config-invalid-value"
_NO_NUMBER: Final = "error-validator-config-invalid-number-value"
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ConfigurationError:
    """What is wrong with one value: `hint` is its name."""

    hint: str
    message: str
    given: tuple[str, ...] = ()


class ValidatorConfiguration:
    """The values by name, and `errors` of unusable ones; `stored` values were examined before."""

    def __init__(self, values: Mapping[str, object], *, stored: bool = False) -> None:
        self._values = values
        self.stored = stored
        self.errors: list[ConfigurationError] = []

    def integer(self, name: str) -> int | None:
        """Return a whole number, None where it is missing or is none."""
        value = self._values.get(name)
        try:
            if value is None or (isinstance(value, int) and not isinstance(value, bool)):
                return value
            if isinstance(value, str) and value.isascii() and abs(int(value)) <= _LARGEST:
                return int(value)
        except ValueError:
            pass
        self._refuse(name, _NO_NUMBER, _shown(value))
        return None

    def number(self, name: str) -> float | None:
        """Return a number, None where it is missing or is none."""
        value = self._values.get(name)
        try:
            if value is None:
                return None
            if isinstance(value, int | float | str) and not isinstance(value, bool):
                number = float(value)
                if number - number == 0:  # neither infinite nor NaN
                    return number
        except (ValueError, OverflowError):
            pass
        self._refuse(name, _NO_NUMBER, _shown(value))
        return None

    def text(self, name: str) -> str | None:
        """Return a text, None where it is missing or is none."""
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value
        self._refuse(name, _WRONG, _shown(value))
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts, None where it is missing or is none."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self._refuse(name, _WRONG, "must be list of values")
        return None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a truth value; anything but true is false."""
        value = self._values.get(name)
        return default if value is None else str(value).lower() == "true"

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def missing(self, *names: str) -> None:
        for name in names:
            self._refuse(name, _MISSING)

    def wrong(self, name: str, *given: str) -> None:
        self._refuse(name, _WRONG, *given)

    def _refuse(self, name: str, message: str, *given: str) -> None:
        self.errors.append(ConfigurationError(name, message, given))


def _shown(value: object) -> str:
    return str(value)[:60]


_IN_USERNAME: Final = re.compile(r"""[<>&"'\s$%!#?§,;:*~/\\|^=\[\]{}()`\x00-\x1f\x7f\u180e]""")
_IN_PERSON_NAME: Final = re.compile(
    r"""[<>&"\x0b\x85\u2028\u2029$%!#?§;*~/\\|^=\[\]{}()\x00-\x1f\x7f]"""
)
_USERNAME_MESSAGE: Final = "error-username-invalid-character"
_LATIN: Final = ("LATIN ", "FULLWIDTH LATIN ", "FEMININE ORDINAL", "MASCULINE ORDINAL")
_DIGITS: Final = ("DIGIT ", "ARABIC-INDIC DIGIT ", "FULLWIDTH DIGIT ")


def username_characters(configuration: ValidatorConfiguration) -> Check:
    """Refuse blanks, quotes, brackets and symbols; `error-message` replaces the message."""
    return _refusing(_IN_USERNAME.search, configuration, _USERNAME_MESSAGE)


def person_name_characters(configuration: ValidatorConfiguration) -> Check:
    """Refuse what no name of a person has: fewer characters than in user names."""
    return _refusing(_IN_PERSON_NAME.search, configuration, "error-person-name-invalid-character")


def idn_homograph(configuration: ValidatorConfiguration) -> Check:
    """Refuse letters, marks and digits of other scripts, so that Cyrillic passes for no Latin."""
    return _refusing(lambda text: not all(map(_is_common, text)), configuration, _USERNAME_MESSAGE)


def _refusing(
    has_prohibited: Callable[[str], object],
    configuration: ValidatorConfiguration,
    standard_message: str,
) -> Check:
    message = configuration.text("error-message") or standard_message
    return each(lambda text: ProfileFinding(message) if has_prohibited(text) else None)


def _is_common(character: str) -> bool:
    if character.isascii():
        return True
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    match category[0]:
        case "L":
            return name.startswith(_LATIN)
        case "N":
            return category != "Nd" or name.startswith(_DIGITS)
        case _:
            return category[0] != "M"


def multivalued(configuration: ValidatorConfiguration) -> Check:
    """Require from `min` to `max` values; `max` is required."""
    least, most = configuration.integer("min") or 0, configuration.integer("max")
    if not configuration.has("max"):
        configuration.missing("max")
    elif most is not None and most < least:
        configuration.wrong("max")
    return between(least, most)


def between(least: int, most: int | None) -> Check:
    """Return the check of how many values there are; an attribute for one has at most one."""

    def check(values: Sequence[str], _: PatternMatches) -> ProfileFinding | None:
        fine = least <= len(values) and (most is None or len(values) <= most)
        return None if fine else ProfileFinding("error-invalid-multivalued-size", (least, most))

    return check


def not_empty(_: ValidatorConfiguration) -> Check:
    """Require a value."""
    return lambda values, _: None if values else ProfileFinding("error-empty", ((),))


def not_blank(_: ValidatorConfiguration) -> Check:
    """Require a value of more than blanks."""

    def check(values: Sequence[str], _: PatternMatches) -> ProfileFinding | None:
        fine = any(value.strip() for value in values)
        return None if fine else ProfileFinding("error-invalid-blank", (tuple(values),))

    return check


_LOCAL: Final = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{1,4})")
_ISO: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_CENTURY: Final = 2000
_TWO_DIGITS: Final = 100


def local_date(_: ValidatorConfiguration) -> Check:
    """Require dates in the short form, `1/31/2027`; a year of two digits is of this century."""

    def check(text: str) -> ProfileFinding | None:
        found = _LOCAL.fullmatch(text)
        month, day, year = map(int, found.groups()) if found else (0, 0, 0)
        fine = _is_date(year if year >= _TWO_DIGITS else _CENTURY + year, month, day)
        return None if fine else ProfileFinding("error-invalid-date")

    return each(check)


def iso_date(_: ValidatorConfiguration) -> Check:
    """Require dates with hyphens, `2027-01-31`. Spec: RFC 3339 (`full-date`)."""

    def check(text: str) -> ProfileFinding | None:
        found = _ISO.fullmatch(text)
        fine = found is not None and _is_date(*map(int, found.groups()))
        return None if fine else ProfileFinding("error-invalid-date", (text,))

    return each(check)


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


_LONGEST_LOCAL: Final = 64
_LONGEST_DOMAIN: Final = 255
_LONGEST_LABEL: Final = 63
_ATOM: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+")
_QUOTED: Final = re.compile(
    r'"(?:[A-Za-z0-9!#$%&\'*.(),<>\[\]:; @+/=?^_`{|}~\u0080-\U0010ffff-]|\\[\\"])+"'
)
_LABEL: Final = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff-]+")
_ADDRESS: Final = re.compile(r"\[(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|IPv6:[0-9A-Fa-f:.]{2,45})\]")


def email(configuration: ValidatorConfiguration) -> Check:
    """Require e-mail addresses; `max-local-length` limits the part before the sign.

    That part is of atoms with points between them, or of texts in quotes; the domain of labels of
    at most 63 characters, or an address in brackets.
    """
    longest = configuration.integer("max-local-length")
    longest_local = _LONGEST_LOCAL if longest is None else longest

    def check(text: str) -> ProfileFinding | None:
        local, _, domain = text.rpartition("@")
        fine = len(local) <= longest_local and _is_local(local) and _is_domain(domain)
        return None if fine else ProfileFinding("error-invalid-email", (text,))

    return each(check)


def _is_local(text: str) -> bool:
    return all(_ATOM.fullmatch(part) or _QUOTED.fullmatch(part) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """Yield the parts between points; points within quotes do not count."""
    if text.startswith('"'):
        yield text
        return
    yield from text.split(".")


def _is_domain(text: str) -> bool:
    if _ADDRESS.fullmatch(text):
        return True
    return len(text) <= _LONGEST_DOMAIN and all(_is_label(label) for label in text.split("."))


def _is_label(text: str) -> bool:
    fine = len(text) <= _LONGEST_LABEL and _LABEL.fullmatch(text) is not None
    return fine and not text.startswith("-") and not text.endswith("-")


_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_LEAST, _MOST = -(2**63), 2**63 - 1
_DOUBLE: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_OUT_OF_RANGE: Final = "error-number-out-of-range"
_NUMBER_MESSAGES: Final = (_OUT_OF_RANGE, f"{_OUT_OF_RANGE}-too-small", f"{_OUT_OF_RANGE}-too-big")
_BAD_LENGTH: Final = "error-invalid-length"
_LENGTH_MESSAGES: Final = (_BAD_LENGTH, f"{_BAD_LENGTH}-too-short", f"{_BAD_LENGTH}-too-long")

NumberT = TypeVar("NumberT", int, float)


@dataclass(frozen=True, slots=True)
class _Limits(Generic[NumberT]):
    """The smallest and the largest allowed number; None is no limit."""

    least: NumberT | None
    most: NumberT | None
    messages: tuple[str, str, str]
    """Of a number outside of both limits, below the only limit, above the only limit."""

    def check(self, number: NumberT) -> ProfileFinding | None:
        too_small = self.least is not None and number < self.least
        too_large = self.most is not None and number > self.most
        if not too_small and not too_large:
            return None
        beyond, below, above = self.messages
        message = above if self.least is None else below if self.most is None else beyond
        return ProfileFinding(message, (self.least, self.most))


def _limits(
    configuration: ValidatorConfiguration,
    read: Callable[[str], NumberT | None],
    messages: tuple[str, str, str] = _NUMBER_MESSAGES,
) -> _Limits[NumberT]:
    """Return `min` and `max`; notes a `max` that is below `min`."""
    least, most = read("min"), read("max")
    if least is not None and most is not None and most < least:
        configuration.wrong("max")
    return _Limits(least, most, messages)


def integer(configuration: ValidatorConfiguration) -> Check:
    """Require whole numbers of 64 bits, from `min` to `max`."""
    limits = _limits(configuration, configuration.integer)

    def check(text: str) -> ProfileFinding | None:
        if not _INTEGER.fullmatch(text) or not _LEAST <= int(text) <= _MOST:
            return ProfileFinding("error-invalid-number")
        return limits.check(int(text))

    return each(check)


def double(configuration: ValidatorConfiguration) -> Check:
    """Require numbers, with or without a fraction; neither infinity nor NaN is one."""
    limits = _limits(configuration, configuration.number)

    def check(text: str) -> ProfileFinding | None:
        number = float(text) if _DOUBLE.fullmatch(text) else math.inf
        return (
            limits.check(number)
            if math.isfinite(number)
            else ProfileFinding("error-invalid-number")
        )

    return each(check)


def length(configuration: ValidatorConfiguration) -> Check:
    """Limit the number of characters, blanks at the ends only with `trim-disabled`."""
    limits = _limits(configuration, configuration.integer, _LENGTH_MESSAGES)
    if not (configuration.has("min") or configuration.has("max")):
        configuration.missing("min", "max")
    counts_blanks = configuration.flag("trim-disabled")
    return each(lambda text: limits.check(len(text if counts_blanks else text.strip())))


def options(configuration: ValidatorConfiguration) -> Check:
    """Require one of the configured values."""
    allowed = frozenset(configuration.texts("options") or ())
    if not configuration.has("options"):
        configuration.missing("options")
    return each(lambda text: None if text in allowed else ProfileFinding("error-invalid-value"))


TOO_COSTLY: Final = "error-pattern-too-costly"


def pattern(configuration: ValidatorConfiguration) -> Check:
    """Require values that match the whole pattern; `error-message` replaces the message."""
    expression = configuration.text("pattern")
    message = configuration.text("error-message") or "error-pattern-no-match"
    if not expression:
        configuration.missing("pattern")
        return _no_check
    # What is stored was examined then, and is examined again before it is matched.
    reason = None if configuration.stored else pattern_problem(expression)
    if reason is not None:
        configuration.wrong("pattern", expression, reason)
        return _no_check

    def check(values: Sequence[str], matches: PatternMatches) -> ProfileFinding | None:
        for verdict in (matches.verdict(expression, value) for value in values):
            if verdict is not Verdict.MATCHES:
                differs = verdict is Verdict.DIFFERS
                return ProfileFinding(message if differs else TOO_COSTLY, (expression,))
        return None

    return check


def _no_check(_values: object, _matches: object) -> None:
    """Check nothing: the configuration was refused."""


_SCHEMES: Final = ("http", "https")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LEGAL: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#[]@!$&'()*+,;=%"
)


def uri(configuration: ValidatorConfiguration) -> Check:
    """Require absolute URIs: `allowedSchemes`, `allowFragment`, `requireValidUrl`."""
    schemes = configuration.texts("allowedSchemes") or _SCHEMES
    allows_fragment = configuration.flag("allowFragment", default=True)
    needs_authority = configuration.flag("requireValidUrl", default=True)

    def check(text: str) -> ProfileFinding | None:
        reason = _malformed(text)
        if reason is not None:
            return ProfileFinding("error-invalid-uri", (text, reason))
        scheme, _, rest = text.partition(":")
        if scheme not in schemes:
            return ProfileFinding("error-invalid-uri-scheme", (text, scheme))
        fragment = text.partition("#")[2]
        if fragment and not allows_fragment:
            return ProfileFinding("error-invalid-uri-fragment", (text, fragment))
        if needs_authority and not rest.startswith("//"):
            return ProfileFinding("error-invalid-uri", (text, "no host"))
        return None

    return each(check)


def _malformed(text: str) -> str | None:
    illegal = next((sign for sign in text if sign.isascii() and sign not in _LEGAL), None)
    if illegal is not None:
        return f"Illegal character at index {text.index(illegal)}"
    if _ESCAPE.search(text):
        return "Malformed escape"
    scheme = _SCHEME.match(text)
    if scheme is None:
        return "URI is not absolute"
    rest = text[scheme.end() :]
    if not rest or re.match(r"//(?:[/?#]|$)", rest):
        return f"Expected authority at index {scheme.end()}"
    return None


MULTIVALUED: Final = "multivalued"
VALIDATORS: Final[Mapping[str, Callable[[ValidatorConfiguration], Check]]] = {
    "length": length,
    "integer": integer,
    "double": double,
    "pattern": pattern,
    "email": email,
    "uri": uri,
    "options": options,
    "local-date": local_date,
    "iso-date": iso_date,
    MULTIVALUED: multivalued,
    "not-empty": not_empty,
    "not-blank": not_blank,
    "username-prohibited-characters": username_characters,
    "person-name-prohibited-characters": person_name_characters,
    "up-username-not-idn-homograph": idn_homograph,
}
"""By the name in `validations`."""
