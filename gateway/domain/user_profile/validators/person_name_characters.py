"""`person-name-prohibited-characters`: what no name of a person has; blanks are allowed.

Keycloak: PersonNameProhibitedCharactersValidator
"""

import re
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_PROHIBITED: Final = re.compile(
    r"""[<>&"\x0b\x85\u2028\u2029$%!#?§;*~/\\|^=\[\]{}()\x00-\x1f\x7f]"""
)


class PersonNameCharacters:
    """The validator."""

    name: Final = "person-name-prohibited-characters"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check."""
        message = configuration.text("error-message") or "error-person-name-invalid-character"

        def check(text: str) -> Finding | None:
            return Finding(message) if _PROHIBITED.search(text) else None

        return each(check)
