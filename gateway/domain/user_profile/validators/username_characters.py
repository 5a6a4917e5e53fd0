"""`username-prohibited-characters`: no blanks, quotes, brackets and signs of other languages.

Keycloak: UsernameProhibitedCharactersValidator
"""

import re
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_PROHIBITED: Final = re.compile(r"""[<>&"'\s$%!#?§,;:*~/\\|^=\[\]{}()`\x00-\x1f\x7f\u180e]""")


class UsernameCharacters:
    """The validator."""

    name: Final = "username-prohibited-characters"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check."""
        message = configuration.text("error-message") or "error-username-invalid-character"

        def check(text: str) -> Finding | None:
            return Finding(message) if _PROHIBITED.search(text) else None

        return each(check)
