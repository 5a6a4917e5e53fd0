"""Which characters user names and names of persons must not have; `error-message` may be set.

`username-prohibited-characters` refuses blanks, quotes, brackets and symbols,
`person-name-prohibited-characters` fewer of them. `up-username-not-idn-homograph` refuses letters
that are not Latin, so that no Cyrillic letter passes for a Latin one.
Keycloak: UsernameProhibitedCharactersValidator, PersonNameProhibitedCharactersValidator,
UsernameIDNHomographValidator, whose "common" script is taken to be what is neither letter, mark
nor digit, and the digits in common use.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_IN_USERNAME: Final = re.compile(r"""[<>&"'\s$%!#?§,;:*~/\\|^=\[\]{}()`\x00-\x1f\x7f\u180e]""")
_IN_PERSON_NAME: Final = re.compile(
    r"""[<>&"\x0b\x85\u2028\u2029$%!#?§;*~/\\|^=\[\]{}()\x00-\x1f\x7f]"""
)
_USERNAME_MESSAGE: Final = "error-username-invalid-character"
_LATIN: Final = ("LATIN ", "FULLWIDTH LATIN ", "FEMININE ORDINAL", "MASCULINE ORDINAL")
_DIGITS: Final = ("DIGIT ", "ARABIC-INDIC DIGIT ", "FULLWIDTH DIGIT ")


def username_characters(configuration: Configuration) -> Check:
    """Refuse what no user name has."""
    return _refusing(_IN_USERNAME.search, configuration, _USERNAME_MESSAGE)


def person_name_characters(configuration: Configuration) -> Check:
    """Refuse what no name of a person has."""
    return _refusing(_IN_PERSON_NAME.search, configuration, "error-person-name-invalid-character")


def idn_homograph(configuration: Configuration) -> Check:
    """Refuse letters, marks and digits of other scripts."""
    return _refusing(lambda text: not all(map(_is_common, text)), configuration, _USERNAME_MESSAGE)


def _refusing(
    has_prohibited: Callable[[str], object], configuration: Configuration, standard_message: str
) -> Check:
    message = configuration.text("error-message") or standard_message
    return each(lambda text: Finding(message) if has_prohibited(text) else None)


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
