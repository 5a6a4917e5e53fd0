"""`browserSecurityHeaders`: a free map of strings, refused only where it would break a response.

The values are sent as they are, `SOMEORIGIN` too: the administrator decides. An update that names
one header changes that one: the others stay, or responses would lose them unnoticed.
Spec: RFC 9110 §5.5; Keycloak: BrowserSecurityHeaders, updating a realm
"""

import re
from collections.abc import Mapping
from typing import Any

from gateway.domain.errors import FieldError
from gateway.domain.realm import SecurityHeaders
from gateway.representations.refusals import attempt, join, raise_all, refused
from gateway.representations.shapes import TextMap

_KEY = re.compile("[A-Za-z0-9_.-]{1,100}")
# A field value of HTTP: Latin-1 without controls, not beginning or ending with white space.
_VALUE = re.compile("(?:[\x21-\x7e\xa0-\xff](?:[\x20-\x7e\xa0-\xff\t]*[\x21-\x7e\xa0-\xff])?)?")
_LONGEST_VALUE = 2000
# All of them together must fit, with the other headers, into a proxy's smallest buffer of 4 kB.
_LONGEST_TOGETHER = 3000


class SecurityHeadersMap:
    """The shape of the field."""

    def read(self, value: Any, path: str) -> SecurityHeaders:
        texts = TextMap().read(value, path)
        errors: list[FieldError] = []
        for name, text in texts.items():
            attempt(errors, None, _check, name, text, join(path, name))
        if sum(map(len, texts.values())) > _LONGEST_TOGETHER:
            errors.append(
                FieldError(path, "longer values", f"{_LONGEST_TOGETHER} characters in all values")
            )
        raise_all(errors)
        return SecurityHeaders(tuple(texts.items()))

    def write(self, value: SecurityHeaders) -> dict[str, str]:
        return dict(value.values)


def with_lasting(value: Any, before: SecurityHeaders) -> Any:
    """Return the map as sent with the headers that it does not name; null takes one away."""
    return {**dict(before.values), **value} if isinstance(value, Mapping) else value


def _check(name: str, text: str, path: str) -> None:
    if not _KEY.fullmatch(name):
        raise refused(path, name, "a key of letters, digits, dots, hyphens and underscores")
    if len(text) > _LONGEST_VALUE or not _VALUE.fullmatch(text):
        allowed = f"at most {_LONGEST_VALUE} Latin-1 characters without control characters"
        raise refused(path, text, f"{allowed} and without white space at either end")
