"""Names that stand in URLs, keys and headers: realm names, ids, client ids, user names.

Keycloak: the reserved characters of realm names. Refused beyond it: `%`, the quotes, `.` and
`..` alone, and everything invisible, because they change their meaning on the way.
"""

from dataclasses import dataclass
from typing import Any

from gateway.representations.plain_json import is_plain_text
from gateway.representations.refusals import refused
from gateway.representations.shapes import Same

_RESERVED = frozenset(":/?#[]@!$&'()*+,;=\\%<>{}|^\"`")
_LONGEST = 255


class UrlName(Same):
    """A name that stands in a path segment as it is."""

    def read(self, value: Any, path: str) -> str:
        """Return the name."""
        if not _is_printable_name(value) or set(value) & _RESERVED or value in {".", ".."}:
            raise refused(
                path, value, f"1 to {_LONGEST} visible characters without spaces and reserved ones"
            )
        return str(value)


@dataclass(frozen=True, slots=True)
class VisibleName(Same):
    """A name without spaces or control characters; URL characters are allowed."""

    longest: int = _LONGEST

    def read(self, value: Any, path: str) -> str:
        """Return the name."""
        if not _is_printable_name(value, self.longest):
            raise refused(path, value, f"1 to {self.longest} visible characters without spaces")
        return str(value)


def _is_printable_name(value: Any, longest: int = _LONGEST) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= longest
        and is_plain_text(value)
        and value.isprintable()
        and " " not in value
    )
