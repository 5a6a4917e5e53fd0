"""Names that stand in URLs, keys and headers: realm names, ids, client ids, user names.

Keycloak: the reserved characters of realm names. Refused beyond it: `%`, the quotes, `.` and
`..` alone, and everything invisible, because they change their meaning on the way: a client that
tidies its URLs makes of /roles/.. its realm.
"""

from typing import Any, ClassVar

from gateway.representations.refusals import refused_text
from gateway.representations.shapes import Verbatim, text_of_scalar

_RESERVED = frozenset(" :/?#[]@!$&'()*+,;=\\%<>{}|^\"`")
_DOTS = frozenset({".", ".."})
_LONGEST = 255


class UrlName(Verbatim):
    """A name that stands in a path segment as it is."""

    def read(self, value: Any, path: str) -> str:
        name = text_of_scalar(value)
        if not _is_printable_name(name) or set(name) & _RESERVED or name in _DOTS:
            raise refused_text(
                path, value, f"1 to {_LONGEST} visible characters without spaces and reserved ones"
            )
        return str(name)


class Identity(UrlName):
    """The id of an object; the empty text is null."""

    empty_is_null: ClassVar[bool] = True


class VisibleName(Verbatim):
    """A name without spaces; URL characters are allowed."""

    def read(self, value: Any, path: str) -> str:
        name = text_of_scalar(value)
        if not _is_printable_name(name) or " " in name:
            raise refused_text(path, value, f"1 to {_LONGEST} visible characters without spaces")
        return str(name)


class PrintableName(Verbatim):
    """A name that may have spaces inside."""

    def read(self, value: Any, path: str) -> str:
        name = text_of_scalar(value)
        if not _is_printable_name(name) or name.strip() != name or name in _DOTS:
            raise refused_text(
                path, value, f"1 to {_LONGEST} printable characters, none of them hidden"
            )
        return str(name)


def _is_printable_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable()
