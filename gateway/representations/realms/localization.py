"""Texts of a realm's own: by language, then by key. Keycloak: localizationTexts."""

import re
from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.representations.json_input import check_text
from gateway.representations.refusals import attempt, join, raise_all, refused
from gateway.representations.shapes import Text

MOST_TEXTS: Final = 5000
"""Of one language."""
MOST_LOCALES: Final = 200
_TEXT: Final = Text(most=10_000)
_LONGEST_KEY: Final = 255
_LOCALE: Final = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,4}")


def is_locale(text: str) -> bool:
    """Tell whether the text names a language. Spec: RFC 5646 §2.1."""
    return _LOCALE.fullmatch(text) is not None


def parse_text(value: Any, key: str, path: str = "") -> str:
    """Return a text; a number or a truth value is written out. Raises InvalidInput."""
    check_text(key, join(path, key))
    if not 0 < len(key) <= _LONGEST_KEY:
        raise refused(join(path, key), key, f"a key of at most {_LONGEST_KEY} characters")
    if isinstance(value, bool | int | float):
        value = str(value).lower()
    return _TEXT.read(value, join(path, key))


def parse_texts(value: Any, path: str) -> dict[str, str]:
    """Return the texts of a language; null is none. Raises InvalidInput."""
    if not isinstance(value, Mapping) or len(value) > MOST_TEXTS:
        raise refused(path, value, f"an object of at most {MOST_TEXTS} texts")
    errors: list[FieldError] = []
    texts = {
        key: attempt(errors, "", parse_text, text, key, path)
        for key, text in value.items()
        if text is not None
    }
    raise_all(errors)
    return texts


def parse_localization(value: Any, path: str) -> dict[str, dict[str, str]]:
    """Return all texts of a realm by language; raises InvalidInput."""
    if not isinstance(value, Mapping) or len(value) > MOST_LOCALES:
        raise refused(path, value, f"an object of at most {MOST_LOCALES} languages")
    errors: list[FieldError] = []
    found: dict[str, dict[str, str]] = {}
    for locale, texts in value.items():
        at = join(path, locale)
        if not is_locale(locale):
            errors.append(FieldError(at, "no language", "a language as in BCP 47"))
        found[locale] = attempt(errors, {}, parse_texts, texts, at)
    raise_all(errors)
    return found
