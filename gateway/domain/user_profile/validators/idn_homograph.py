"""`up-username-not-idn-homograph`: letters are Latin, so that no Cyrillic a passes for another.

Keycloak: UsernameIDNHomographValidator. Its "common" script is taken to be what is neither letter,
mark nor digit, and the digits everybody uses.
"""

import unicodedata
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_LATIN: Final = ("LATIN ", "FULLWIDTH LATIN ", "FEMININE ORDINAL", "MASCULINE ORDINAL")
_DIGITS: Final = ("DIGIT ", "ARABIC-INDIC DIGIT ", "FULLWIDTH DIGIT ")


class IdnHomograph:
    """The validator."""

    name: Final = "up-username-not-idn-homograph"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check."""
        message = configuration.text("error-message") or "error-username-invalid-character"

        def check(text: str) -> Finding | None:
            return None if all(map(_is_familiar, text)) else Finding(message)

        return each(check)


def _is_familiar(sign: str) -> bool:
    if sign.isascii():
        return True
    kind = unicodedata.category(sign)
    name = unicodedata.name(sign, "")
    match kind[0]:
        case "L":
            return name.startswith(_LATIN)
        case "N":
            return kind != "Nd" or name.startswith(_DIGITS)
        case _:
            return kind[0] != "M"
